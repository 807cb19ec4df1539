* negated objective of a maximization
NAME worked-rules FREE
ROWS
 N objective
 E r0
 E r1
 E r2
 L r3
 L r4
 L r5
 G r6
 G r7
 G r8
 G r9
 G r10
COLUMNS
 MARKER 'MARKER' 'INTORG'
 x0 objective 0
 x0 r0 1
 x0 r6 -1
 x0 r8 2
 x1 objective 0
 x1 r0 1
 x1 r8 1
 x2 objective 0
 x2 r0 1
 x2 r3 -1
 x2 r9 1
 x3 objective 0
 x3 r1 1
 x3 r7 1
 x4 objective 0
 x4 r1 1
 x4 r4 -1
 x5 objective 0
 x5 r2 1
 x5 r8 2
 x5 r10 1
 x6 objective 0
 x6 r2 1
 x6 r8 2
 x7 objective 0
 x7 r2 1
 x7 r8 1
 x8 objective 0
 x8 r2 1
 x8 r5 -1
 MARKER 'MARKER' 'INTEND'
 x9 objective -3
 x9 r3 1
 x9 r4 1
 x10 objective -2
 x10 r5 1
 x11 objective 1
 x11 r6 1
 x12 objective 0
 x12 r7 1
 x12 r9 -1
 x12 r10 -1
RHS
 rhs r0 1
 rhs r1 1
 rhs r2 1
 rhs r7 1
 rhs r8 2
BOUNDS
 LO bound x0 0
 LO bound x1 0
 LO bound x2 0
 LO bound x3 0
 LO bound x4 0
 LO bound x5 0
 LO bound x6 0
 LO bound x7 0
 LO bound x8 0
 LO bound x9 0
 LO bound x10 0
 LO bound x11 0
 LO bound x12 0
 UP bound x0 1
 UP bound x1 1
 UP bound x2 1
 UP bound x3 1
 UP bound x4 1
 UP bound x5 1
 UP bound x6 1
 UP bound x7 1
 UP bound x8 1
 UP bound x9 1
 UP bound x10 1
 UP bound x11 1
 UP bound x12 1
ENDATA
