* negated objective of a maximization
NAME round-of-forty-aggregated FREE
ROWS
 N objective
 E r0
 E r1
 E r2
 E r3
 E r4
 E r5
 E r6
 E r7
 G r8
 L r9
 L r10
 G r11
 L r12
 G r13
 L r14
 G r15
 L r16
 G r17
 G r18
 G r19
 G r20
 G r21
 G r22
 G r23
 G r24
 L r25
 G r26
 L r27
 L r28
 G r29
 L r30
 G r31
 G r32
 G r33
 G r34
 L r35
 G r36
 G r37
 G r38
 G r39
 L r40
 L r41
 L r42
 G r43
 L r44
 G r45
 L r46
 L r47
COLUMNS
 MARKER 'MARKER' 'INTORG'
 x0 objective 0
 x0 r0 1
 x0 r22 1
 x0 r24 -1
 x0 r26 -1
 x0 r28 -1
 x0 r29 -1
 x0 r34 1
 x0 r46 1
 x1 objective 0
 x1 r0 1
 x1 r10 1
 x1 r11 1
 x1 r40 -1
 x1 r43 -1
 x2 objective 0
 x2 r1 1
 x2 r12 -1
 x2 r17 -1
 x2 r19 1
 x2 r21 -1
 x2 r24 -1
 x2 r34 -1
 x2 r37 1
 x2 r41 1
 x2 r43 -1
 x2 r47 1
 x3 objective 0
 x3 r1 1
 x3 r15 -1
 x3 r25 -1
 x3 r35 1
 x3 r36 1
 x4 objective 0
 x4 r1 1
 x4 r33 -1
 x5 objective 0
 x5 r2 1
 x5 r14 -1
 x5 r28 1
 x5 r31 -1
 x6 objective 0
 x6 r2 1
 x6 r20 1
 x6 r23 -1
 x6 r29 -1
 x6 r40 -1
 x7 objective 0
 x7 r2 1
 x7 r11 1
 x7 r13 1
 x7 r18 -1
 x7 r32 -1
 x7 r37 -1
 x7 r45 -1
 x8 objective 0
 x8 r2 1
 x8 r17 -1
 x8 r44 1
 x9 objective 0
 x9 r3 1
 x9 r9 1
 x9 r10 -1
 x9 r12 1
 x9 r15 -1
 x9 r23 1
 x9 r35 -1
 x9 r45 -1
 x10 objective 0
 x10 r3 1
 x10 r8 1
 x10 r21 1
 x10 r24 1
 x10 r28 -1
 x10 r30 -1
 x10 r38 -1
 x10 r39 -1
 x10 r41 1
 x10 r44 1
 x10 r46 -1
 x11 objective 0
 x11 r4 1
 x11 r14 -1
 x11 r26 -1
 x11 r27 -1
 x11 r41 1
 x11 r47 1
 x12 objective 0
 x12 r4 1
 x12 r12 1
 x12 r15 -1
 x12 r36 -1
 x12 r39 1
 x12 r46 -1
 x13 objective 0
 x13 r4 1
 x13 r16 -1
 x13 r42 -1
 x14 objective 0
 x14 r4 1
 x14 r9 -1
 x14 r11 1
 x15 objective 0
 x15 r4 1
 x15 r18 1
 x16 objective 0
 x16 r5 1
 x16 r26 1
 x16 r29 -1
 x16 r35 1
 x16 r44 1
 x16 r47 1
 x17 objective 0
 x17 r5 1
 x17 r8 -1
 x17 r23 1
 x17 r25 1
 x17 r27 1
 x17 r30 -1
 x17 r33 -1
 x17 r34 1
 x17 r45 1
 x18 objective 0
 x18 r5 1
 x18 r13 1
 x18 r19 -1
 x18 r20 1
 x18 r21 1
 x18 r38 -1
 x19 objective 0
 x19 r6 1
 x19 r16 -1
 x19 r22 -1
 x19 r31 1
 x19 r33 -1
 x19 r42 -1
 x20 objective 0
 x20 r6 1
 x20 r8 1
 x20 r13 1
 x20 r18 1
 x20 r25 -1
 x20 r27 1
 x20 r32 1
 x20 r43 -1
 x21 objective 0
 x21 r7 1
 x21 r9 -1
 x21 r14 -1
 x21 r17 1
 x21 r22 1
 x21 r31 1
 x21 r39 -1
 x22 objective 0
 x22 r7 1
 x22 r10 -1
 x23 objective 0
 x23 r7 1
 x23 r19 1
 x23 r20 -1
 x23 r40 1
 x24 objective 0
 x24 r7 1
 x24 r16 1
 x24 r30 -1
 x24 r32 1
 x24 r36 1
 x24 r37 1
 x24 r38 -1
 x24 r42 -1
 x25 objective 2
 x25 r8 1
 x26 objective -1
 x26 r9 3
 x27 objective -2
 x27 r10 3
 x28 objective 2
 x28 r11 1
 x29 objective -2
 x29 r12 3
 x30 objective 1
 x30 r13 1
 x31 objective -1
 x31 r14 3
 x32 objective 1
 x32 r15 1
 x33 objective -2
 x33 r16 3
 x34 objective 1
 x34 r17 1
 x35 objective 1
 x35 r18 1
 x36 objective 1
 x36 r19 1
 x37 objective 1
 x37 r20 1
 x38 objective 2
 x38 r21 1
 x39 objective 1
 x39 r22 1
 x40 objective 1
 x40 r23 1
 x41 objective 1
 x41 r24 1
 x42 objective -1
 x42 r25 3
 x43 objective 1
 x43 r26 1
 x44 objective -1
 x44 r27 3
 x45 objective -2
 x45 r28 3
 x46 objective 1
 x46 r29 1
 x47 objective -2
 x47 r30 3
 x48 objective 1
 x48 r31 1
 x49 objective 1
 x49 r32 1
 x50 objective 1
 x50 r33 1
 x51 objective 1
 x51 r34 1
 x52 objective -1
 x52 r35 3
 x53 objective 2
 x53 r36 1
 x54 objective 1
 x54 r37 1
 x55 objective 1
 x55 r38 1
 x56 objective 1
 x56 r39 1
 x57 objective -1
 x57 r40 3
 x58 objective -1
 x58 r41 3
 x59 objective -1
 x59 r42 3
 x60 objective 1
 x60 r43 1
 x61 objective -2
 x61 r44 3
 x62 objective 1
 x62 r45 1
 x63 objective -2
 x63 r46 3
 x64 objective -2
 x64 r47 3
 MARKER 'MARKER' 'INTEND'
RHS
 rhs r0 1
 rhs r1 1
 rhs r2 1
 rhs r3 1
 rhs r4 1
 rhs r5 1
 rhs r6 1
 rhs r7 1
 rhs r9 1
 rhs r10 1
 rhs r11 1
 rhs r12 2
 rhs r13 1
 rhs r15 -2
 rhs r16 1
 rhs r17 -1
 rhs r24 -1
 rhs r25 1
 rhs r26 -1
 rhs r27 2
 rhs r28 1
 rhs r29 -2
 rhs r33 -2
 rhs r35 2
 rhs r38 -2
 rhs r39 -1
 rhs r40 1
 rhs r41 3
 rhs r43 -2
 rhs r44 3
 rhs r45 -1
 rhs r46 1
 rhs r47 3
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
 LO bound x38 0
 LO bound x39 0
 LO bound x40 0
 LO bound x41 0
 LO bound x42 0
 LO bound x43 0
 LO bound x44 0
 LO bound x45 0
 LO bound x46 0
 LO bound x47 0
 LO bound x48 0
 LO bound x49 0
 LO bound x50 0
 LO bound x51 0
 LO bound x52 0
 LO bound x53 0
 LO bound x54 0
 LO bound x55 0
 LO bound x56 0
 LO bound x57 0
 LO bound x58 0
 LO bound x59 0
 LO bound x60 0
 LO bound x61 0
 LO bound x62 0
 LO bound x63 0
 LO bound x64 0
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
 UP bound x38 1
 UP bound x39 1
 UP bound x40 1
 UP bound x41 1
 UP bound x42 1
 UP bound x43 1
 UP bound x44 1
 UP bound x45 1
 UP bound x46 1
 UP bound x47 1
 UP bound x48 1
 UP bound x49 1
 UP bound x50 1
 UP bound x51 1
 UP bound x52 1
 UP bound x53 1
 UP bound x54 1
 UP bound x55 1
 UP bound x56 1
 UP bound x57 1
 UP bound x58 1
 UP bound x59 1
 UP bound x60 1
 UP bound x61 1
 UP bound x62 1
 UP bound x63 1
 UP bound x64 1
ENDATA
