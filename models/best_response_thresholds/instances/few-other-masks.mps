* negated objective of a maximization
NAME few-other-masks FREE
ROWS
 N objective
 E r0
 E r1
 E r2
 E r3
 E r4
 E r5
 L r6
 G r7
 L r8
 L r9
 L r10
 L r11
 L r12
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
 L r30
 L r31
 L r32
 L r33
 L r34
 L r35
 L r36
 L r37
 L r38
 L r39
 L r40
 L r41
 G r42
 G r43
 G r44
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
 L r58
 L r59
 L r60
 L r61
 L r62
 L r63
 L r64
 G r65
 G r66
 G r67
 G r68
 G r69
 G r70
 G r71
 G r72
 L r73
 G r74
 G r75
 L r76
 L r77
 L r78
 L r79
 L r80
 G r81
 G r82
 G r83
 G r84
 G r85
 E r86
 E r87
 E r88
 E r89
 E r90
 E r91
 E r92
 E r93
 E r94
 E r95
 E r96
 E r97
 E r98
 E r99
 E r100
 E r101
 E r102
 E r103
 E r104
 E r105
 E r106
 E r107
 E r108
 E r109
 E r110
 E r111
 E r112
COLUMNS
 MARKER 'MARKER' 'INTORG'
 x0 objective 0
 x0 r0 1
 x0 r26 -1
 x0 r28 -1
 x0 r30 -1
 x0 r31 -1
 x0 r33 -1
 x0 r34 -1
 x0 r35 -1
 x0 r40 -1
 x0 r43 1
 x0 r44 1
 x0 r50 -1
 x0 r54 1
 x0 r56 -1
 x0 r90 -1
 x0 r97 1
 x0 r105 1
 x0 r106 1
 x1 objective 0
 x1 r0 1
 x1 r8 -1
 x1 r9 -1
 x1 r11 -1
 x1 r17 -1
 x1 r20 -1
 x1 r22 -1
 x1 r23 -1
 x1 r24 -1
 x1 r42 -1
 x1 r63 -1
 x1 r66 -1
 x1 r67 -1
 x1 r68 -1
 x1 r72 -1
 x1 r75 1
 x1 r77 1
 x1 r89 -1
 x1 r98 -1
 x2 objective 0
 x2 r1 1
 x2 r15 -1
 x2 r18 -1
 x2 r21 -1
 x2 r22 -1
 x2 r24 -1
 x2 r48 -1
 x2 r60 1
 x2 r67 -1
 x2 r69 -1
 x2 r71 -1
 x2 r72 -1
 x2 r81 1
 x2 r82 1
 x2 r83 1
 x2 r85 1
 x3 objective 0
 x3 r1 1
 x3 r27 1
 x3 r29 1
 x3 r30 1
 x3 r32 1
 x3 r33 1
 x3 r34 1
 x3 r35 1
 x3 r44 -1
 x3 r97 -1
 x3 r98 1
 x3 r105 -1
 x4 objective 0
 x4 r1 1
 x4 r7 -1
 x4 r36 -1
 x4 r55 -1
 x4 r76 -1
 x4 r107 -1
 x4 r108 1
 x5 objective 0
 x5 r2 1
 x5 r9 1
 x5 r10 1
 x5 r11 1
 x5 r25 -1
 x5 r26 -1
 x5 r27 -1
 x5 r31 -1
 x5 r32 -1
 x5 r33 -1
 x5 r35 -1
 x5 r52 -1
 x5 r58 1
 x5 r79 1
 x5 r82 1
 x5 r83 1
 x5 r84 1
 x5 r85 1
 x5 r90 -1
 x5 r106 -1
 x5 r108 1
 x6 objective 0
 x6 r2 1
 x6 r6 1
 x6 r7 -1
 x6 r37 1
 x6 r45 -1
 x6 r46 -1
 x6 r65 -1
 x6 r91 -1
 x6 r105 -1
 x6 r107 -1
 x7 objective 0
 x7 r3 1
 x7 r68 -1
 x7 r70 -1
 x7 r71 -1
 x7 r72 -1
 x7 r81 1
 x7 r82 1
 x7 r84 1
 x7 r85 1
 x7 r98 -1
 x7 r106 1
 x7 r108 -1
 x8 objective 0
 x8 r3 1
 x8 r39 -1
 x8 r44 1
 x8 r91 -1
 x9 objective 0
 x9 r3 1
 x9 r59 1
 x9 r62 -1
 x9 r97 1
 x9 r105 -1
 x10 objective 0
 x10 r3 1
 x10 r12 1
 x10 r16 1
 x10 r19 1
 x10 r21 1
 x10 r23 1
 x10 r24 1
 x10 r25 1
 x10 r26 1
 x10 r27 1
 x10 r28 1
 x10 r29 1
 x10 r30 1
 x10 r35 1
 x10 r89 -1
 x10 r90 -1
 x10 r107 1
 x11 objective 0
 x11 r4 1
 x11 r13 1
 x11 r44 1
 x11 r51 1
 x11 r57 1
 x11 r64 -1
 x11 r89 1
 x11 r97 1
 x11 r106 1
 x11 r107 1
 x12 objective 0
 x12 r4 1
 x12 r7 1
 x12 r14 1
 x12 r18 1
 x12 r19 1
 x12 r20 1
 x12 r24 1
 x12 r41 -1
 x12 r42 -1
 x12 r49 1
 x12 r66 1
 x12 r69 1
 x12 r70 1
 x12 r72 1
 x12 r78 -1
 x12 r91 -1
 x12 r98 1
 x12 r105 1
 x12 r108 -1
 x13 objective 0
 x13 r5 1
 x13 r44 -1
 x13 r61 -1
 x13 r65 1
 x13 r73 -1
 x13 r106 1
 x13 r108 -1
 x14 objective 0
 x14 r5 1
 x14 r7 -1
 x14 r25 -1
 x14 r28 -1
 x14 r29 -1
 x14 r31 -1
 x14 r32 -1
 x14 r34 -1
 x14 r35 -1
 x14 r81 -1
 x14 r83 -1
 x14 r84 -1
 x14 r85 -1
 x15 objective 0
 x15 r5 1
 x15 r8 -1
 x15 r10 -1
 x15 r11 -1
 x15 r14 1
 x15 r15 1
 x15 r16 1
 x15 r17 1
 x15 r24 1
 x15 r38 -1
 x15 r47 1
 x15 r53 1
 x15 r74 -1
 x15 r80 -1
 x15 r107 1
 x48 objective 0
 x48 r101 1
 x48 r109 -1
 x49 objective 0
 x49 r101 1
 x49 r105 -1
 x50 objective 0
 x50 r101 1
 x50 r105 -2
 x50 r109 -1
 x51 objective 0
 x51 r101 1
 x51 r105 -3
 x52 objective 0
 x52 r101 1
 x52 r105 -4
 x52 r109 -1
 x53 objective 0
 x53 r101 1
 x53 r105 -5
 x53 r109 -1
 x54 objective 0
 x54 r95 1
 x54 r99 -1
 x55 objective 0
 x55 r95 1
 x55 r97 -1
 x56 objective 0
 x56 r95 1
 x56 r97 -2
 x56 r99 -1
 x57 objective 0
 x57 r95 1
 x57 r97 -3
 x57 r99 -1
 x58 objective 0
 x58 r95 1
 x58 r97 -4
 x58 r99 -1
 x59 objective 0
 x59 r102 1
 x60 objective 0
 x60 r102 1
 x60 r106 -1
 x61 objective 0
 x61 r102 1
 x61 r106 -2
 x61 r110 -1
 x62 objective 0
 x62 r102 1
 x62 r106 -3
 x62 r110 -1
 x63 objective 0
 x63 r102 1
 x63 r106 -4
 x64 objective 0
 x64 r102 1
 x64 r106 -5
 x65 objective 0
 x65 r86 1
 x66 objective 0
 x66 r86 1
 x66 r89 -1
 x66 r92 -1
 x67 objective 0
 x67 r86 1
 x67 r89 -2
 x68 objective 0
 x68 r86 1
 x68 r89 -3
 x69 objective 0
 x69 r96 1
 x69 r100 -1
 x70 objective 0
 x70 r96 1
 x70 r98 -1
 x70 r100 -1
 x71 objective 0
 x71 r96 1
 x71 r98 -2
 x71 r100 -1
 x72 objective 0
 x72 r96 1
 x72 r98 -3
 x73 objective 0
 x73 r96 1
 x73 r98 -4
 x73 r100 -1
 x74 objective 0
 x74 r103 1
 x74 r111 -1
 x75 objective 0
 x75 r103 1
 x75 r107 -1
 x75 r111 -1
 x76 objective 0
 x76 r103 1
 x76 r107 -2
 x77 objective 0
 x77 r103 1
 x77 r107 -3
 x78 objective 0
 x78 r103 1
 x78 r107 -4
 x78 r111 -1
 x79 objective 0
 x79 r103 1
 x79 r107 -5
 x80 objective 0
 x80 r87 1
 x81 objective 0
 x81 r87 1
 x81 r90 -1
 x81 r93 -1
 x82 objective 0
 x82 r87 1
 x82 r90 -2
 x82 r93 -1
 x83 objective 0
 x83 r87 1
 x83 r90 -3
 x84 objective 0
 x84 r104 1
 x85 objective 0
 x85 r104 1
 x85 r108 -1
 x85 r112 -1
 x86 objective 0
 x86 r104 1
 x86 r108 -2
 x87 objective 0
 x87 r104 1
 x87 r108 -3
 x88 objective 0
 x88 r104 1
 x88 r108 -4
 x89 objective 0
 x89 r104 1
 x89 r108 -5
 x89 r112 -1
 x90 objective 0
 x90 r88 1
 x91 objective 0
 x91 r88 1
 x91 r91 -1
 x91 r94 -1
 x92 objective 0
 x92 r88 1
 x92 r91 -2
 x92 r94 -1
 x93 objective 0
 x93 r88 1
 x93 r91 -3
 MARKER 'MARKER' 'INTEND'
 x16 objective -2
 x16 r109 1
 x17 objective -3
 x17 r6 1
 x18 objective 2
 x18 r7 1
 x19 objective -1
 x19 r8 1
 x19 r9 1
 x19 r10 1
 x19 r11 2
 x20 objective -1
 x20 r99 1
 x21 objective 1
 x21 r110 1
 x22 objective -3
 x22 r12 1
 x22 r13 1
 x23 objective -1
 x23 r14 1
 x23 r15 1
 x23 r16 1
 x23 r17 1
 x23 r18 1
 x23 r19 1
 x23 r20 1
 x23 r21 1
 x23 r22 1
 x23 r23 1
 x23 r24 4
 x24 objective -1
 x24 r92 1
 x25 objective -3
 x25 r25 1
 x25 r26 1
 x25 r27 1
 x25 r28 1
 x25 r29 1
 x25 r30 1
 x25 r31 1
 x25 r32 1
 x25 r33 1
 x25 r34 1
 x25 r35 3
 x26 objective -1
 x26 r36 1
 x26 r37 1
 x26 r38 1
 x26 r39 1
 x27 objective -2
 x27 r40 1
 x27 r41 1
 x28 objective 3
 x28 r42 1
 x29 objective 1
 x29 r43 1
 x30 objective 2
 x30 r44 1
 x31 objective -2
 x31 r45 1
 x32 objective -1
 x32 r46 1
 x32 r47 1
 x32 r48 1
 x32 r49 1
 x32 r50 1
 x33 objective -1
 x33 r51 1
 x33 r52 1
 x33 r53 1
 x33 r54 1
 x33 r55 1
 x34 objective -1
 x34 r56 1
 x34 r57 1
 x34 r58 1
 x34 r59 1
 x34 r60 1
 x35 objective -1
 x35 r61 1
 x35 r62 1
 x35 r63 1
 x35 r64 1
 x36 objective 1
 x36 r100 1
 x37 objective -1
 x37 r111 1
 x38 objective 1
 x38 r65 1
 x39 objective 1
 x39 r66 1
 x39 r67 1
 x39 r68 1
 x39 r69 1
 x39 r70 1
 x39 r71 1
 x39 r72 3
 x40 objective -3
 x40 r93 1
 x41 objective -1
 x41 r73 1
 x42 objective 2
 x42 r74 1
 x43 objective 2
 x43 r75 1
 x44 objective 3
 x44 r112 1
 x45 objective 3
 x45 r94 1
 x46 objective -1
 x46 r76 1
 x46 r77 1
 x46 r78 1
 x46 r79 1
 x46 r80 1
 x47 objective 2
 x47 r81 1
 x47 r82 1
 x47 r83 1
 x47 r84 1
 x47 r85 2
RHS
 rhs r0 1
 rhs r1 1
 rhs r2 1
 rhs r3 1
 rhs r4 1
 rhs r5 1
 rhs r6 1
 rhs r7 -2
 rhs r9 1
 rhs r10 1
 rhs r11 1
 rhs r12 1
 rhs r13 1
 rhs r14 2
 rhs r15 1
 rhs r16 2
 rhs r17 1
 rhs r18 1
 rhs r19 2
 rhs r20 1
 rhs r21 1
 rhs r23 1
 rhs r24 3
 rhs r25 1
 rhs r26 1
 rhs r27 2
 rhs r28 1
 rhs r29 2
 rhs r30 2
 rhs r32 1
 rhs r33 1
 rhs r34 1
 rhs r35 2
 rhs r37 1
 rhs r42 -1
 rhs r43 1
 rhs r44 -1
 rhs r47 1
 rhs r49 1
 rhs r51 1
 rhs r53 1
 rhs r54 1
 rhs r57 1
 rhs r58 1
 rhs r59 1
 rhs r60 1
 rhs r67 -1
 rhs r68 -1
 rhs r71 -1
 rhs r75 1
 rhs r77 1
 rhs r79 1
 rhs r82 1
 rhs r85 1
 rhs r86 1
 rhs r87 1
 rhs r88 1
 rhs r89 -2
 rhs r90 -3
 rhs r91 -3
 rhs r95 1
 rhs r96 1
 rhs r97 -1
 rhs r98 -2
 rhs r101 1
 rhs r102 1
 rhs r103 1
 rhs r104 1
 rhs r105 -3
 rhs r106 -1
 rhs r107 -2
 rhs r108 -3
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
 LO bound x65 0
 LO bound x66 0
 LO bound x67 0
 LO bound x68 0
 LO bound x69 0
 LO bound x70 0
 LO bound x71 0
 LO bound x72 0
 LO bound x73 0
 LO bound x74 0
 LO bound x75 0
 LO bound x76 0
 LO bound x77 0
 LO bound x78 0
 LO bound x79 0
 LO bound x80 0
 LO bound x81 0
 LO bound x82 0
 LO bound x83 0
 LO bound x84 0
 LO bound x85 0
 LO bound x86 0
 LO bound x87 0
 LO bound x88 0
 LO bound x89 0
 LO bound x90 0
 LO bound x91 0
 LO bound x92 0
 LO bound x93 0
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
 UP bound x65 1
 UP bound x66 1
 UP bound x67 1
 UP bound x68 1
 UP bound x69 1
 UP bound x70 1
 UP bound x71 1
 UP bound x72 1
 UP bound x73 1
 UP bound x74 1
 UP bound x75 1
 UP bound x76 1
 UP bound x77 1
 UP bound x78 1
 UP bound x79 1
 UP bound x80 1
 UP bound x81 1
 UP bound x82 1
 UP bound x83 1
 UP bound x84 1
 UP bound x85 1
 UP bound x86 1
 UP bound x87 1
 UP bound x88 1
 UP bound x89 1
 UP bound x90 1
 UP bound x91 1
 UP bound x92 1
 UP bound x93 1
ENDATA
