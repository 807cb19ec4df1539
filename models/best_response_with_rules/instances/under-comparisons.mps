* negated objective of a maximization
NAME under-comparisons FREE
ROWS
 N objective
 E r0
 E r1
 E r2
 E r3
 E r4
 E r5
 L r6
 L r7
 L r8
 L r9
 L r10
 L r11
 G r12
 L r13
 L r14
 L r15
 L r16
 L r17
 L r18
 L r19
 L r20
 L r21
 L r22
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
 L r34
 L r35
 L r36
 L r37
 L r38
 L r39
 L r40
 G r41
 L r42
 L r43
 L r44
 L r45
 L r46
 L r47
 L r48
 L r49
 L r50
 L r51
 L r52
 L r53
 L r54
 L r55
 L r56
 L r57
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
 G r68
 G r69
 L r70
 L r71
 L r72
 L r73
 L r74
 L r75
 L r76
 G r77
 L r78
 L r79
 L r80
 L r81
 G r82
 G r83
 G r84
 G r85
 G r86
 G r87
 G r88
 G r89
 G r90
 G r91
 G r92
 G r93
 G r94
COLUMNS
 MARKER 'MARKER' 'INTORG'
 x0 objective 0
 x0 r0 1
 x0 r16 -1
 x0 r37 -1
 x0 r70 -1
 x0 r77 1
 x0 r92 1
 x0 r93 1
 x1 objective 0
 x1 r0 1
 x1 r26 -1
 x1 r31 1
 x1 r33 -1
 x1 r41 -1
 x1 r43 1
 x1 r63 1
 x1 r66 -1
 x1 r69 -1
 x1 r80 -1
 x1 r85 -1
 x1 r91 1
 x2 objective 0
 x2 r1 1
 x2 r6 -1
 x2 r27 1
 x2 r32 1
 x2 r50 1
 x2 r68 -1
 x3 objective 0
 x3 r1 1
 x3 r12 -1
 x3 r17 -1
 x3 r30 -1
 x3 r64 -1
 x3 r73 -1
 x3 r82 -1
 x3 r83 -1
 x3 r89 10
 x4 objective 0
 x4 r1 1
 x4 r20 -1
 x4 r22 1
 x4 r40 1
 x4 r41 1
 x4 r57 -1
 x4 r58 -1
 x4 r84 1
 x4 r89 20
 x5 objective 0
 x5 r2 1
 x5 r32 -1
 x5 r36 1
 x5 r44 1
 x5 r59 -1
 x5 r88 3
 x5 r94 1
 x6 objective 0
 x6 r2 1
 x6 r11 -1
 x6 r21 1
 x6 r38 -1
 x6 r69 -1
 x6 r72 1
 x6 r74 -1
 x6 r88 2
 x7 objective 0
 x7 r2 1
 x7 r18 -1
 x7 r58 1
 x7 r60 1
 x7 r79 1
 x7 r88 1
 x8 objective 0
 x8 r2 1
 x8 r23 -1
 x8 r30 1
 x8 r31 -1
 x8 r49 1
 x8 r52 1
 x8 r56 -1
 x8 r65 1
 x8 r87 1
 x9 objective 0
 x9 r3 1
 x9 r8 -1
 x9 r28 -1
 x9 r41 -1
 x9 r45 1
 x9 r46 1
 x9 r51 1
 x9 r58 -1
 x9 r59 -1
 x9 r61 -1
 x9 r71 1
 x9 r75 -1
 x9 r83 1
 x9 r92 1
 x10 objective 0
 x10 r3 1
 x10 r13 1
 x10 r14 1
 x10 r31 -1
 x10 r35 -1
 x10 r54 1
 x10 r84 -1
 x10 r86 -1
 x10 r91 1
 x11 objective 0
 x11 r4 1
 x11 r25 -1
 x11 r30 1
 x11 r48 1
 x11 r58 1
 x11 r76 1
 x11 r84 -1
 x11 r88 4
 x12 objective 0
 x12 r4 1
 x12 r42 -1
 x12 r69 -1
 x12 r88 3
 x12 r89 7
 x13 objective 0
 x13 r4 1
 x13 r7 -1
 x13 r15 1
 x13 r29 -1
 x13 r31 1
 x13 r34 1
 x13 r78 -1
 x13 r88 2
 x13 r89 14
 x14 objective 0
 x14 r4 1
 x14 r88 1
 x14 r89 20
 x15 objective 0
 x15 r4 1
 x15 r32 1
 x15 r55 -1
 x15 r83 -1
 x15 r89 20
 x16 objective 0
 x16 r5 1
 x16 r10 -1
 x16 r19 -1
 x16 r39 -1
 x16 r59 -1
 x16 r62 1
 x16 r84 -1
 x17 objective 0
 x17 r5 1
 x17 r9 -1
 x17 r24 -1
 x17 r47 1
 x17 r67 -1
 x17 r82 1
 x17 r88 2
 x18 objective 0
 x18 r5 1
 x18 r32 -1
 x18 r53 1
 x18 r69 -1
 x18 r81 -1
 x18 r83 -1
 x18 r88 4
 x59 objective 0
 x59 r89 -20
 x59 r90 1
 MARKER 'MARKER' 'INTEND'
 x19 objective -1
 x19 r6 1
 x19 r7 1
 x19 r8 1
 x19 r9 1
 x20 objective -1
 x20 r10 1
 x20 r11 1
 x21 objective 3
 x21 r12 1
 x22 objective -1
 x22 r13 1
 x23 objective -1
 x23 r14 1
 x23 r15 1
 x24 objective -1
 x24 r16 1
 x24 r17 1
 x24 r18 1
 x24 r19 1
 x25 objective -1
 x25 r20 1
 x25 r21 1
 x26 objective -3
 x26 r22 1
 x26 r23 1
 x26 r24 1
 x26 r25 1
 x27 objective -1
 x27 r26 1
 x27 r27 1
 x27 r28 1
 x27 r29 1
 x28 objective 1
 x28 r30 1
 x29 objective 1
 x29 r31 1
 x30 objective 2
 x30 r32 1
 x31 objective 3
 x31 r33 1
 x32 objective -1
 x32 r34 1
 x33 objective -1
 x33 r35 1
 x33 r36 1
 x34 objective -3
 x34 r37 1
 x34 r38 1
 x34 r39 1
 x34 r40 1
 x35 objective 2
 x35 r41 1
 x36 objective -3
 x36 r42 1
 x36 r43 1
 x36 r44 1
 x36 r45 1
 x37 objective -1
 x37 r46 1
 x37 r47 1
 x37 r48 1
 x38 objective -1
 x38 r49 1
 x38 r50 1
 x39 objective -1
 x39 r51 1
 x39 r52 1
 x39 r53 1
 x40 objective -1
 x40 r54 1
 x40 r55 1
 x40 r56 1
 x40 r57 1
 x41 objective 1
 x41 r58 1
 x42 objective 3
 x42 r59 1
 x43 objective -1
 x43 r60 1
 x44 objective -3
 x44 r61 1
 x44 r62 1
 x44 r63 1
 x45 objective -3
 x45 r64 1
 x45 r65 1
 x45 r66 1
 x45 r67 1
 x46 objective 1
 x46 r68 1
 x47 objective 2
 x47 r69 1
 x48 objective -3
 x48 r70 1
 x48 r71 1
 x48 r72 1
 x48 r73 1
 x49 objective -2
 x49 r74 1
 x50 objective -3
 x50 r75 1
 x50 r76 1
 x51 objective 3
 x51 r77 1
 x52 objective -3
 x52 r78 1
 x52 r79 1
 x52 r80 1
 x52 r81 1
 x53 objective 1
 x53 r82 1
 x54 objective 3
 x54 r83 1
 x55 objective 2
 x55 r84 1
 x56 objective 2
 x56 r85 1
 x57 objective 1
 x57 r86 1
 x58 objective 3
 x58 r87 1
 x60 objective 0
 x60 r90 1
 x60 r93 -1
 x60 r94 -1
RHS
 rhs r0 1
 rhs r1 1
 rhs r2 1
 rhs r3 1
 rhs r4 1
 rhs r5 1
 rhs r13 1
 rhs r14 1
 rhs r15 1
 rhs r21 1
 rhs r22 1
 rhs r27 1
 rhs r31 -1
 rhs r32 -1
 rhs r34 1
 rhs r36 1
 rhs r40 1
 rhs r41 -1
 rhs r43 1
 rhs r44 1
 rhs r45 1
 rhs r46 1
 rhs r47 1
 rhs r48 1
 rhs r49 1
 rhs r50 1
 rhs r51 1
 rhs r52 1
 rhs r53 1
 rhs r54 1
 rhs r58 -1
 rhs r59 -2
 rhs r60 1
 rhs r62 1
 rhs r63 1
 rhs r65 1
 rhs r69 -3
 rhs r71 1
 rhs r72 1
 rhs r76 1
 rhs r77 1
 rhs r79 1
 rhs r83 -2
 rhs r84 -2
 rhs r87 1
 rhs r88 5
 rhs r90 1
 rhs r91 1
 rhs r92 1
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
ENDATA
