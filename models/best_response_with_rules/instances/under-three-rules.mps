* negated objective of a maximization
NAME under-three-rules FREE
ROWS
 N objective
 E r0
 E r1
 E r2
 E r3
 E r4
 E r5
 G r6
 G r7
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
 G r25
 L r26
 L r27
 L r28
 L r29
 L r30
 L r31
 L r32
 G r33
 L r34
 L r35
 G r36
 G r37
 L r38
 L r39
 L r40
 G r41
 G r42
 G r43
 L r44
 L r45
 L r46
 L r47
 G r48
 G r49
 G r50
 L r51
 L r52
 L r53
 L r54
 L r55
 L r56
 L r57
 L r58
 L r59
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
 L r77
 L r78
 G r79
 L r80
 L r81
 L r82
 L r83
 L r84
 L r85
 L r86
 L r87
 G r88
 G r89
 G r90
 G r91
 G r92
 G r93
 G r94
 G r95
 G r96
 G r97
COLUMNS
 MARKER 'MARKER' 'INTORG'
 x0 objective 0
 x0 r0 1
 x0 r23 1
 x0 r27 1
 x0 r36 -1
 x0 r53 1
 x0 r58 -1
 x0 r74 1
 x0 r84 -1
 x0 r88 1
 x1 objective 0
 x1 r0 1
 x1 r6 1
 x1 r8 -1
 x1 r20 -1
 x1 r32 -1
 x1 r33 1
 x1 r38 -1
 x1 r42 -1
 x1 r43 1
 x1 r48 1
 x1 r72 1
 x1 r75 -1
 x1 r79 -1
 x2 objective 0
 x2 r1 1
 x2 r10 1
 x2 r16 1
 x2 r34 -1
 x2 r41 1
 x2 r48 -1
 x2 r50 -1
 x2 r78 1
 x2 r87 -1
 x2 r89 1
 x2 r90 1
 x3 objective 0
 x3 r1 1
 x3 r6 1
 x3 r12 -1
 x3 r21 -1
 x3 r45 1
 x3 r60 1
 x3 r61 1
 x3 r65 1
 x3 r69 -1
 x3 r89 1
 x4 objective 0
 x4 r1 1
 x4 r24 -1
 x4 r28 1
 x4 r30 -1
 x4 r36 1
 x4 r42 1
 x5 objective 0
 x5 r2 1
 x5 r7 -1
 x5 r49 1
 x5 r67 -1
 x5 r76 1
 x6 objective 0
 x6 r2 1
 x6 r13 -1
 x6 r33 1
 x6 r44 -1
 x6 r47 -1
 x6 r88 1
 x6 r89 1
 x7 objective 0
 x7 r2 1
 x7 r55 -1
 x7 r64 -1
 x8 objective 0
 x8 r2 1
 x8 r41 1
 x8 r62 1
 x8 r69 -1
 x8 r88 1
 x8 r89 1
 x8 r92 1
 x9 objective 0
 x9 r3 1
 x9 r14 1
 x9 r18 -1
 x9 r25 1
 x9 r39 1
 x9 r46 1
 x9 r50 -1
 x9 r59 1
 x9 r70 1
 x9 r82 1
 x9 r86 -1
 x9 r93 1
 x10 objective 0
 x10 r3 1
 x10 r6 1
 x10 r22 -1
 x10 r36 1
 x10 r43 -1
 x10 r52 -1
 x10 r56 -1
 x10 r69 1
 x10 r83 1
 x10 r90 1
 x11 objective 0
 x11 r4 1
 x11 r35 1
 x11 r71 1
 x11 r77 -1
 x11 r79 1
 x11 r94 1
 x12 objective 0
 x12 r4 1
 x12 r42 -1
 x12 r49 -1
 x12 r50 -1
 x12 r57 -1
 x12 r69 1
 x12 r90 1
 x12 r94 1
 x13 objective 0
 x13 r4 1
 x13 r9 1
 x13 r15 -1
 x13 r17 1
 x13 r81 -1
 x13 r90 1
 x13 r94 1
 x14 objective 0
 x14 r4 1
 x14 r29 1
 x14 r41 1
 x14 r43 -1
 x14 r68 1
 x15 objective 0
 x15 r4 1
 x15 r31 -1
 x15 r37 -1
 x16 objective 0
 x16 r5 1
 x16 r26 -1
 x16 r54 1
 x16 r63 1
 x16 r73 -1
 x17 objective 0
 x17 r5 1
 x17 r6 1
 x17 r40 -1
 x17 r41 -1
 x17 r42 1
 x17 r68 1
 x17 r80 1
 x17 r95 1
 x18 objective 0
 x18 r5 1
 x18 r7 -1
 x18 r11 1
 x18 r12 -1
 x18 r19 -1
 x18 r36 1
 x18 r51 -1
 x18 r66 1
 x18 r79 -1
 x18 r85 1
 x18 r90 1
 x18 r95 1
 MARKER 'MARKER' 'INTEND'
 x19 objective 3
 x19 r6 1
 x20 objective 3
 x20 r7 1
 x21 objective -3
 x21 r8 1
 x21 r9 1
 x21 r10 1
 x21 r11 1
 x22 objective 2
 x22 r12 1
 x23 objective -2
 x23 r13 1
 x23 r14 1
 x23 r15 1
 x24 objective -2
 x24 r16 1
 x24 r17 1
 x24 r18 1
 x25 objective -2
 x25 r19 1
 x25 r20 1
 x25 r21 1
 x25 r22 1
 x26 objective -3
 x26 r23 1
 x26 r24 1
 x27 objective 3
 x27 r25 1
 x28 objective -3
 x28 r26 1
 x29 objective -3
 x29 r27 1
 x29 r28 1
 x29 r29 1
 x30 objective -2
 x30 r30 1
 x30 r31 1
 x30 r32 1
 x31 objective 1
 x31 r33 1
 x32 objective -2
 x32 r34 1
 x32 r35 1
 x33 objective 2
 x33 r36 1
 x34 objective 1
 x34 r37 1
 x35 objective -1
 x35 r38 1
 x35 r39 1
 x35 r40 1
 x36 objective 3
 x36 r41 1
 x37 objective 2
 x37 r42 1
 x38 objective 2
 x38 r43 1
 x39 objective -2
 x39 r44 1
 x40 objective -3
 x40 r45 1
 x40 r46 1
 x40 r47 1
 x41 objective 3
 x41 r48 1
 x42 objective 1
 x42 r49 1
 x43 objective 1
 x43 r50 1
 x44 objective -2
 x44 r51 1
 x44 r52 1
 x44 r53 1
 x45 objective -1
 x45 r54 1
 x45 r55 1
 x45 r56 1
 x45 r57 1
 x46 objective -1
 x46 r58 1
 x46 r59 1
 x46 r60 1
 x47 objective -1
 x47 r61 1
 x47 r62 1
 x47 r63 1
 x48 objective -1
 x48 r64 1
 x48 r65 1
 x49 objective -1
 x49 r66 1
 x49 r67 1
 x50 objective 1
 x50 r68 1
 x51 objective 2
 x51 r69 1
 x52 objective -2
 x52 r70 1
 x52 r71 1
 x52 r72 1
 x52 r73 1
 x53 objective -1
 x53 r74 1
 x54 objective -3
 x54 r75 1
 x54 r76 1
 x54 r77 1
 x54 r78 1
 x55 objective 3
 x55 r79 1
 x56 objective -2
 x56 r80 1
 x56 r81 1
 x56 r82 1
 x57 objective -2
 x57 r83 1
 x58 objective -2
 x58 r84 1
 x58 r85 1
 x58 r86 1
 x58 r87 1
 x59 objective 0
 x59 r88 -1
 x59 r96 1
 x60 objective 0
 x60 r89 -1
 x60 r97 1
 x61 objective 0
 x61 r91 1
 x61 r92 -1
 x61 r93 -1
 x62 objective 0
 x62 r91 1
 x62 r94 -1
 x62 r95 -1
RHS
 rhs r0 1
 rhs r1 1
 rhs r2 1
 rhs r3 1
 rhs r4 1
 rhs r5 1
 rhs r6 1
 rhs r7 -1
 rhs r9 1
 rhs r10 1
 rhs r11 1
 rhs r12 -1
 rhs r14 1
 rhs r16 1
 rhs r17 1
 rhs r23 1
 rhs r25 1
 rhs r27 1
 rhs r28 1
 rhs r29 1
 rhs r33 1
 rhs r35 1
 rhs r39 1
 rhs r42 -1
 rhs r43 -1
 rhs r45 1
 rhs r46 1
 rhs r50 -2
 rhs r53 1
 rhs r54 1
 rhs r59 1
 rhs r60 1
 rhs r61 1
 rhs r62 1
 rhs r63 1
 rhs r65 1
 rhs r66 1
 rhs r68 1
 rhs r69 -1
 rhs r70 1
 rhs r71 1
 rhs r72 1
 rhs r74 1
 rhs r76 1
 rhs r78 1
 rhs r79 -1
 rhs r80 1
 rhs r82 1
 rhs r83 1
 rhs r85 1
 rhs r90 2
 rhs r91 1
 rhs r96 1
 rhs r97 1
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
ENDATA
