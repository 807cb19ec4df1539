* negated objective of a maximization
NAME signs-and-widths FREE
ROWS
 N objective
 E r0
 E r1
 E r2
 E r3
 L r4
 G r5
 G r6
 G r7
 G r8
 G r9
 G r10
 G r11
 G r12
 G r13
 G r14
 G r15
 L r16
 L r17
 G r18
 G r19
 G r20
 G r21
 G r22
 L r23
 L r24
 L r25
 L r26
 L r27
 L r28
 L r29
 G r30
 G r31
 G r32
 G r33
 G r34
 G r35
 G r36
 L r37
 G r38
 L r39
 G r40
 L r41
 L r42
 L r43
 L r44
 G r45
 G r46
 G r47
COLUMNS
 MARKER 'MARKER' 'INTORG'
 x0 objective 0
 x0 r0 1
 x0 r4 -1
 x0 r10 1
 x0 r21 1
 x0 r24 -1
 x0 r30 1
 x0 r38 1
 x0 r39 1
 x0 r41 1
 x1 objective 0
 x1 r0 1
 x1 r7 -1
 x1 r12 1
 x1 r16 -1
 x1 r17 -1
 x1 r18 1
 x1 r23 1
 x1 r26 1
 x1 r32 -1
 x1 r35 1
 x1 r46 1
 x2 objective 0
 x2 r1 1
 x2 r14 -1
 x2 r16 -1
 x2 r22 -1
 x2 r25 -1
 x2 r37 -1
 x2 r39 1
 x2 r45 -1
 x3 objective 0
 x3 r1 1
 x3 r4 1
 x3 r5 1
 x3 r9 -1
 x3 r12 -1
 x3 r23 -1
 x4 objective 0
 x4 r1 1
 x4 r30 -1
 x4 r33 1
 x4 r43 -1
 x5 objective 0
 x5 r2 1
 x5 r4 1
 x5 r6 1
 x5 r20 1
 x5 r37 1
 x6 objective 0
 x6 r2 1
 x6 r13 -1
 x6 r16 1
 x6 r18 -1
 x6 r29 -1
 x7 objective 0
 x7 r2 1
 x7 r11 -1
 x7 r40 1
 x7 r44 -1
 x8 objective 0
 x8 r2 1
 x8 r28 1
 x8 r34 1
 x8 r38 -1
 x9 objective 0
 x9 r3 1
 x9 r15 1
 x10 objective 0
 x10 r3 1
 x10 r8 1
 x10 r12 -1
 x10 r16 1
 x10 r36 -1
 x10 r42 1
 x10 r47 -1
 x11 objective 0
 x11 r3 1
 x11 r19 1
 x12 objective 0
 x12 r3 1
 x12 r24 -1
 x12 r30 -1
 x12 r39 1
 x13 objective 0
 x13 r3 1
 x13 r4 -1
 x13 r27 1
 x13 r31 -1
 MARKER 'MARKER' 'INTEND'
 x14 objective -3
 x14 r4 1
 x15 objective 2
 x15 r5 1
 x15 r6 1
 x15 r7 1
 x16 objective 4
 x16 r8 1
 x16 r9 1
 x16 r10 1
 x16 r11 1
 x17 objective 4
 x17 r12 1
 x18 objective 2
 x18 r13 1
 x18 r14 1
 x18 r15 1
 x19 objective -1
 x19 r16 1
 x20 objective -3
 x20 r17 1
 x21 objective 1
 x21 r18 1
 x22 objective 4
 x22 r19 1
 x22 r20 1
 x22 r21 1
 x22 r22 1
 x23 objective -3
 x23 r23 1
 x24 objective -2
 x24 r24 1
 x25 objective -1
 x25 r25 1
 x26 objective -3
 x26 r26 1
 x26 r27 1
 x26 r28 1
 x27 objective -3
 x27 r29 1
 x28 objective 2
 x28 r30 1
 x29 objective 2
 x29 r31 1
 x29 r32 1
 x29 r33 1
 x30 objective 1
 x30 r34 1
 x30 r35 1
 x31 objective 4
 x31 r36 1
 x32 objective -1
 x32 r37 1
 x33 objective 1
 x33 r38 1
 x34 objective -1
 x34 r39 1
 x35 objective 1
 x35 r40 1
 x36 objective -3
 x36 r41 1
 x36 r42 1
 x36 r43 1
 x36 r44 1
 x37 objective 1
 x37 r45 1
 x37 r46 1
 x37 r47 1
RHS
 rhs r0 1
 rhs r1 1
 rhs r2 1
 rhs r3 1
 rhs r4 2
 rhs r5 1
 rhs r6 1
 rhs r8 1
 rhs r10 1
 rhs r12 -1
 rhs r15 1
 rhs r16 2
 rhs r19 1
 rhs r20 1
 rhs r21 1
 rhs r23 1
 rhs r26 1
 rhs r27 1
 rhs r28 1
 rhs r30 -1
 rhs r33 1
 rhs r34 1
 rhs r35 1
 rhs r37 1
 rhs r39 3
 rhs r40 1
 rhs r41 1
 rhs r42 1
 rhs r46 1
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
 LO bound x13 0
 LO bound x14 0
 LO bound x15 0
 LO bound x16 0
 LO bound x17 0
 LO bound x18 0
 LO bound x19 0
 LO bound x20 0
 LO bound x21 0
 LO bound x22 0
 LO bound x23 0
 LO bound x24 0
 LO bound x25 0
 LO bound x26 0
 LO bound x27 0
 LO bound x28 0
 LO bound x29 0
 LO bound x30 0
 LO bound x31 0
 LO bound x32 0
 LO bound x33 0
 LO bound x34 0
 LO bound x35 0
 LO bound x36 0
 LO bound x37 0
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
 UP bound x13 1
 UP bound x14 1
 UP bound x15 1
 UP bound x16 1
 UP bound x17 1
 UP bound x18 1
 UP bound x19 1
 UP bound x20 1
 UP bound x21 1
 UP bound x22 1
 UP bound x23 1
 UP bound x24 1
 UP bound x25 1
 UP bound x26 1
 UP bound x27 1
 UP bound x28 1
 UP bound x29 1
 UP bound x30 1
 UP bound x31 1
 UP bound x32 1
 UP bound x33 1
 UP bound x34 1
 UP bound x35 1
 UP bound x36 1
 UP bound x37 1
ENDATA
