* negated objective of a maximization
NAME worked-parities FREE
ROWS
 N objective
 E r0
 E r1
 E r2
 L r3
 L r4
 L r5
 L r6
 L r7
 L r8
 L r9
 L r10
 L r11
 L r12
COLUMNS
 MARKER 'MARKER' 'INTORG'
 x0 objective 0
 x0 r0 1
 x1 objective 0
 x1 r0 1
 x1 r3 -1
 x1 r5 -1
 x1 r6 1
 x1 r8 1
 x1 r9 -1
 x1 r10 1
 x1 r11 1
 x1 r12 -1
 x2 objective 0
 x2 r1 1
 x3 objective 0
 x3 r1 1
 x3 r3 -1
 x3 r4 -1
 x3 r6 1
 x3 r7 1
 x3 r9 -1
 x3 r10 1
 x3 r11 -1
 x3 r12 1
 x4 objective 0
 x4 r2 1
 x4 r9 1
 x4 r10 1
 x4 r11 -1
 x4 r12 -1
 x5 objective 0
 x5 r2 1
 x6 objective 0
 x6 r2 1
 x6 r4 -1
 x6 r5 -1
 x6 r7 1
 x6 r8 1
 MARKER 'MARKER' 'INTEND'
 x7 objective -2
 x7 r3 1
 x7 r6 1
 x8 objective -2
 x8 r4 1
 x8 r7 1
 x9 objective -2
 x9 r5 1
 x9 r8 1
 x10 objective 1
 x10 r9 -1
 x10 r10 -1
 x10 r11 -1
 x10 r12 -1
RHS
 rhs r0 1
 rhs r1 1
 rhs r2 1
 rhs r6 2
 rhs r7 2
 rhs r8 2
 rhs r10 2
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
ENDATA
