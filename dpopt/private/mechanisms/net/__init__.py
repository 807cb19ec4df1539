"""Exact draws from nets: databases of a size, and given candidates.

| file | what it holds |
|---|---|
| net_multisets.py, net_draw.py | the databases that are selected from, and the draw |
| net_boxes.py, net_kernels.py, net_distribution.py | exact draws by branch and bound; weights however small |
"""
