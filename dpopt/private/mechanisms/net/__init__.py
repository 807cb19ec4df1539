"""Exact draws from nets: databases of a size, and given candidates.

| file | what it holds |
|---|---|
| net_distribution.py | the multisets that are selected from, and their exact distribution |
| net_boxes.py, net_kernels.py | exact draws by branch and bound; weights however small |
"""
