"""Pictures of what was released or compared.

| file | what it holds |
|---|---|
| performance_picture.py, polynomial_picture.py | pictures of comparisons and of polynomials |
| histogram_picture.py, grid_picture.py, intervals_picture.py | pictures of released counts; nothing of the truth in them |
| picture_file.py | what pictures share: labels of bins, and the file |
"""
