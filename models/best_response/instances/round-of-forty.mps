* negated objective of a maximization
NAME round-of-forty FREE
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
 L r11
 L r12
 L r13
 L r14
 G r15
 L r16
 L r17
 L r18
 G r19
 L r20
 L r21
 L r22
 G r23
 L r24
 L r25
 L r26
 G r27
 G r28
 G r29
 G r30
 G r31
 G r32
 G r33
 G r34
 L r35
 L r36
 L r37
 G r38
 L r39
 L r40
 L r41
 L r42
 L r43
 L r44
 G r45
 L r46
 L r47
 L r48
 G r49
 G r50
 G r51
 G r52
 L r53
 L r54
 L r55
 G r56
 G r57
 G r58
 G r59
 L r60
 L r61
 L r62
 L r63
 L r64
 L r65
 L r66
 L r67
 L r68
 G r69
 L r70
 L r71
 L r72
 G r73
 L r74
 L r75
 L r76
 L r77
 L r78
 L r79
COLUMNS
 MARKER 'MARKER' 'INTORG'
 x0 objective 0
 x0 r0 1
 x0 r32 1
 x0 r34 -1
 x0 r38 -1
 x0 r42 -1
 x0 r45 -1
 x0 r52 1
 x0 r76 1
 x1 objective 0
 x1 r0 1
 x1 r14 1
 x1 r15 1
 x1 r61 -1
 x1 r69 -1
 x2 objective 0
 x2 r1 1
 x2 r17 -1
 x2 r27 -1
 x2 r29 1
 x2 r31 -1
 x2 r34 -1
 x2 r52 -1
 x2 r57 1
 x2 r65 1
 x2 r69 -1
 x2 r77 1
 x3 objective 0
 x3 r1 1
 x3 r23 -1
 x3 r35 -1
 x3 r53 1
 x3 r56 1
 x4 objective 0
 x4 r1 1
 x4 r51 -1
 x5 objective 0
 x5 r2 1
 x5 r22 -1
 x5 r44 1
 x5 r49 -1
 x6 objective 0
 x6 r2 1
 x6 r30 1
 x6 r33 -1
 x6 r45 -1
 x6 r60 -1
 x7 objective 0
 x7 r2 1
 x7 r15 1
 x7 r19 1
 x7 r28 -1
 x7 r50 -1
 x7 r57 -1
 x7 r73 -1
 x8 objective 0
 x8 r2 1
 x8 r27 -1
 x8 r72 1
 x9 objective 0
 x9 r3 1
 x9 r9 1
 x9 r13 -1
 x9 r18 1
 x9 r23 -1
 x9 r33 1
 x9 r54 -1
 x9 r73 -1
 x10 objective 0
 x10 r3 1
 x10 r8 1
 x10 r31 1
 x10 r34 1
 x10 r43 -1
 x10 r47 -1
 x10 r58 -1
 x10 r59 -1
 x10 r64 1
 x10 r70 1
 x10 r74 -1
 x11 objective 0
 x11 r4 1
 x11 r21 -1
 x11 r38 -1
 x11 r41 -1
 x11 r63 1
 x11 r79 1
 x12 objective 0
 x12 r4 1
 x12 r16 1
 x12 r23 -1
 x12 r56 -1
 x12 r59 1
 x12 r75 -1
 x13 objective 0
 x13 r4 1
 x13 r26 -1
 x13 r66 -1
 x14 objective 0
 x14 r4 1
 x14 r11 -1
 x14 r15 1
 x15 objective 0
 x15 r4 1
 x15 r28 1
 x16 objective 0
 x16 r5 1
 x16 r38 1
 x16 r45 -1
 x16 r55 1
 x16 r71 1
 x16 r78 1
 x17 objective 0
 x17 r5 1
 x17 r8 -1
 x17 r33 1
 x17 r37 1
 x17 r40 1
 x17 r46 -1
 x17 r51 -1
 x17 r52 1
 x17 r73 1
 x18 objective 0
 x18 r5 1
 x18 r19 1
 x18 r29 -1
 x18 r30 1
 x18 r31 1
 x18 r58 -1
 x19 objective 0
 x19 r6 1
 x19 r25 -1
 x19 r32 -1
 x19 r49 1
 x19 r51 -1
 x19 r67 -1
 x20 objective 0
 x20 r6 1
 x20 r8 1
 x20 r19 1
 x20 r28 1
 x20 r36 -1
 x20 r39 1
 x20 r50 1
 x20 r69 -1
 x21 objective 0
 x21 r7 1
 x21 r10 -1
 x21 r20 -1
 x21 r27 1
 x21 r32 1
 x21 r49 1
 x21 r59 -1
 x22 objective 0
 x22 r7 1
 x22 r12 -1
 x23 objective 0
 x23 r7 1
 x23 r29 1
 x23 r30 -1
 x23 r62 1
 x24 objective 0
 x24 r7 1
 x24 r24 1
 x24 r48 -1
 x24 r50 1
 x24 r56 1
 x24 r57 1
 x24 r58 -1
 x24 r68 -1
 MARKER 'MARKER' 'INTEND'
 x25 objective 2
 x25 r8 1
 x26 objective -1
 x26 r9 1
 x26 r10 1
 x26 r11 1
 x27 objective -2
 x27 r12 1
 x27 r13 1
 x27 r14 1
 x28 objective 2
 x28 r15 1
 x29 objective -2
 x29 r16 1
 x29 r17 1
 x29 r18 1
 x30 objective 1
 x30 r19 1
 x31 objective -1
 x31 r20 1
 x31 r21 1
 x31 r22 1
 x32 objective 1
 x32 r23 1
 x33 objective -2
 x33 r24 1
 x33 r25 1
 x33 r26 1
 x34 objective 1
 x34 r27 1
 x35 objective 1
 x35 r28 1
 x36 objective 1
 x36 r29 1
 x37 objective 1
 x37 r30 1
 x38 objective 2
 x38 r31 1
 x39 objective 1
 x39 r32 1
 x40 objective 1
 x40 r33 1
 x41 objective 1
 x41 r34 1
 x42 objective -1
 x42 r35 1
 x42 r36 1
 x42 r37 1
 x43 objective 1
 x43 r38 1
 x44 objective -1
 x44 r39 1
 x44 r40 1
 x44 r41 1
 x45 objective -2
 x45 r42 1
 x45 r43 1
 x45 r44 1
 x46 objective 1
 x46 r45 1
 x47 objective -2
 x47 r46 1
 x47 r47 1
 x47 r48 1
 x48 objective 1
 x48 r49 1
 x49 objective 1
 x49 r50 1
 x50 objective 1
 x50 r51 1
 x51 objective 1
 x51 r52 1
 x52 objective -1
 x52 r53 1
 x52 r54 1
 x52 r55 1
 x53 objective 2
 x53 r56 1
 x54 objective 1
 x54 r57 1
 x55 objective 1
 x55 r58 1
 x56 objective 1
 x56 r59 1
 x57 objective -1
 x57 r60 1
 x57 r61 1
 x57 r62 1
 x58 objective -1
 x58 r63 1
 x58 r64 1
 x58 r65 1
 x59 objective -1
 x59 r66 1
 x59 r67 1
 x59 r68 1
 x60 objective 1
 x60 r69 1
 x61 objective -2
 x61 r70 1
 x61 r71 1
 x61 r72 1
 x62 objective 1
 x62 r73 1
 x63 objective -2
 x63 r74 1
 x63 r75 1
 x63 r76 1
 x64 objective -2
 x64 r77 1
 x64 r78 1
 x64 r79 1
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
 rhs r14 1
 rhs r15 1
 rhs r16 1
 rhs r18 1
 rhs r19 1
 rhs r23 -2
 rhs r24 1
 rhs r27 -1
 rhs r34 -1
 rhs r37 1
 rhs r38 -1
 rhs r39 1
 rhs r40 1
 rhs r44 1
 rhs r45 -2
 rhs r51 -2
 rhs r53 1
 rhs r55 1
 rhs r58 -2
 rhs r59 -1
 rhs r62 1
 rhs r63 1
 rhs r64 1
 rhs r65 1
 rhs r69 -2
 rhs r70 1
 rhs r71 1
 rhs r72 1
 rhs r73 -1
 rhs r76 1
 rhs r77 1
 rhs r78 1
 rhs r79 1
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
