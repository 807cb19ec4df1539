* negated objective of a maximization
NAME few-thresholds FREE
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
 G r39
 L r40
 L r41
 L r42
 L r43
 L r44
 L r45
 L r46
 L r47
 L r48
 L r49
 G r50
 G r51
 G r52
 G r53
 G r54
 G r55
 G r56
 G r57
 G r58
 G r59
 G r60
 G r61
 G r62
 G r63
 G r64
 G r65
 L r66
 L r67
 L r68
 G r69
 G r70
 G r71
 G r72
 G r73
 G r74
 G r75
 G r76
 G r77
 G r78
 G r79
 G r80
 G r81
 L r82
 L r83
 L r84
 L r85
 L r86
 L r87
 L r88
 L r89
 L r90
 L r91
 L r92
 G r93
 G r94
 G r95
 L r96
 L r97
 L r98
 L r99
 L r100
 L r101
 L r102
 L r103
 L r104
 L r105
 L r106
 L r107
 L r108
 G r109
 G r110
 G r111
 G r112
 G r113
 L r114
 L r115
 L r116
 L r117
 L r118
 L r119
 L r120
 G r121
 G r122
 G r123
 G r124
 G r125
 G r126
 G r127
 G r128
 G r129
 G r130
 G r131
 G r132
 G r133
 G r134
 G r135
 G r136
 G r137
 G r138
 G r139
 G r140
 G r141
 G r142
 G r143
 G r144
 G r145
 G r146
 G r147
 L r148
 L r149
 L r150
 L r151
 L r152
 L r153
 L r154
 L r155
 L r156
 L r157
 L r158
 L r159
 G r160
 G r161
 G r162
 G r163
 G r164
 G r165
 G r166
 L r167
 L r168
 L r169
 L r170
 L r171
 L r172
 L r173
 L r174
 L r175
 L r176
 L r177
 L r178
 L r179
 L r180
 L r181
 L r182
 L r183
 L r184
 L r185
 L r186
 L r187
 L r188
 L r189
 L r190
 L r191
 G r192
 L r193
 L r194
 L r195
 L r196
 L r197
 L r198
 L r199
 L r200
 L r201
 L r202
 L r203
 L r204
 G r205
 G r206
 G r207
 G r208
COLUMNS
 MARKER 'MARKER' 'INTORG'
 x0 objective 0
 x0 r0 1
 x0 r10 -1
 x0 r11 -1
 x0 r12 -1
 x0 r13 -1
 x0 r14 -1
 x0 r15 -1
 x0 r20 -1
 x0 r39 -1
 x0 r46 -1
 x0 r47 -1
 x0 r48 -1
 x0 r49 -1
 x0 r69 -1
 x0 r71 1
 x0 r72 1
 x0 r73 1
 x0 r74 1
 x0 r75 1
 x0 r76 1
 x0 r81 1
 x0 r123 1
 x0 r125 1
 x0 r126 1
 x0 r127 1
 x0 r151 1
 x1 objective 0
 x1 r0 1
 x1 r6 -1
 x1 r24 -1
 x1 r28 -1
 x1 r31 -1
 x1 r33 -1
 x1 r35 -1
 x1 r36 -1
 x1 r40 -1
 x1 r42 -1
 x1 r43 -1
 x1 r44 -1
 x1 r53 -1
 x1 r56 -1
 x1 r58 -1
 x1 r59 -1
 x1 r60 -1
 x1 r65 1
 x1 r93 1
 x1 r102 -1
 x1 r105 -1
 x1 r106 -1
 x1 r108 -1
 x1 r109 -1
 x1 r110 -1
 x1 r111 -1
 x1 r113 -1
 x1 r114 1
 x1 r117 1
 x1 r118 1
 x1 r120 1
 x1 r130 1
 x1 r132 1
 x1 r133 1
 x1 r135 1
 x1 r136 1
 x1 r137 1
 x1 r139 1
 x1 r140 1
 x1 r141 1
 x1 r142 1
 x1 r143 1
 x1 r156 1
 x1 r160 1
 x1 r161 1
 x1 r175 1
 x1 r179 1
 x1 r182 1
 x1 r184 1
 x1 r186 1
 x1 r187 1
 x1 r189 -1
 x2 objective 0
 x2 r1 1
 x2 r10 -1
 x2 r11 -1
 x2 r12 -1
 x2 r16 -1
 x2 r17 -1
 x2 r18 -1
 x2 r20 -1
 x2 r38 1
 x2 r39 1
 x2 r67 -1
 x2 r70 -1
 x2 r82 -1
 x2 r83 -1
 x2 r84 -1
 x2 r85 -1
 x2 r86 -1
 x2 r87 -1
 x2 r92 -1
 x2 r121 1
 x2 r171 -1
 x2 r174 1
 x2 r178 1
 x2 r181 1
 x2 r184 1
 x2 r185 1
 x2 r187 1
 x3 objective 0
 x3 r1 1
 x3 r22 -1
 x3 r26 -1
 x3 r30 -1
 x3 r31 -1
 x3 r32 -1
 x3 r36 -1
 x3 r52 -1
 x3 r55 -1
 x3 r57 -1
 x3 r59 -1
 x3 r60 -1
 x3 r97 1
 x3 r98 1
 x3 r99 1
 x3 r100 1
 x3 r101 1
 x3 r115 -1
 x3 r117 -1
 x3 r119 -1
 x3 r120 -1
 x3 r149 1
 x3 r160 1
 x3 r194 -1
 x3 r195 -1
 x3 r196 -1
 x3 r197 -1
 x3 r198 -1
 x3 r199 -1
 x3 r204 -1
 x3 r206 -1
 x3 r207 -1
 x3 r208 -1
 x4 objective 0
 x4 r1 1
 x4 r6 -1
 x4 r65 -1
 x4 r103 -1
 x4 r105 -1
 x4 r107 -1
 x4 r108 -1
 x4 r109 1
 x4 r111 1
 x4 r112 1
 x4 r113 1
 x4 r124 1
 x4 r125 1
 x4 r126 1
 x4 r127 1
 x4 r128 -1
 x4 r129 -1
 x4 r130 -1
 x4 r134 -1
 x4 r135 -1
 x4 r136 -1
 x4 r138 -1
 x4 r139 -1
 x4 r140 -1
 x4 r142 -1
 x4 r143 -1
 x4 r144 1
 x4 r146 1
 x4 r147 1
 x4 r165 -1
 x4 r193 1
 x5 objective 0
 x5 r2 1
 x5 r9 1
 x5 r10 1
 x5 r13 1
 x5 r14 1
 x5 r16 1
 x5 r17 1
 x5 r19 1
 x5 r20 1
 x5 r66 1
 x5 r71 1
 x5 r74 1
 x5 r75 1
 x5 r77 1
 x5 r78 1
 x5 r80 1
 x5 r81 1
 x5 r82 -1
 x5 r85 -1
 x5 r86 -1
 x5 r88 -1
 x5 r89 -1
 x5 r91 -1
 x5 r92 -1
 x5 r96 1
 x5 r97 1
 x5 r98 1
 x5 r100 1
 x5 r101 1
 x5 r114 1
 x5 r115 1
 x5 r116 1
 x5 r120 1
 x5 r122 1
 x5 r150 1
 x5 r158 -1
 x5 r173 -1
 x5 r177 -1
 x5 r181 -1
 x5 r182 -1
 x5 r183 -1
 x5 r187 -1
 x5 r190 1
 x5 r193 1
 x5 r195 1
 x5 r197 1
 x5 r199 1
 x5 r200 1
 x5 r202 1
 x5 r203 1
 x5 r204 1
 x6 objective 0
 x6 r2 1
 x6 r6 1
 x6 r21 1
 x6 r22 1
 x6 r23 1
 x6 r24 1
 x6 r25 1
 x6 r36 1
 x6 r39 1
 x6 r40 1
 x6 r41 1
 x6 r42 1
 x6 r44 1
 x6 r65 1
 x6 r109 -1
 x6 r110 -1
 x6 r112 -1
 x6 r113 -1
 x6 r129 1
 x6 r131 1
 x6 r133 1
 x6 r134 1
 x6 r136 1
 x6 r137 1
 x6 r138 1
 x6 r140 1
 x6 r141 1
 x6 r142 1
 x6 r143 1
 x6 r159 -1
 x6 r160 -1
 x6 r166 1
 x6 r169 1
 x6 r191 -1
 x6 r192 1
 x7 objective 0
 x7 r3 1
 x7 r8 -1
 x7 r23 1
 x7 r27 1
 x7 r30 1
 x7 r33 1
 x7 r34 1
 x7 r36 1
 x7 r65 1
 x7 r71 -1
 x7 r72 -1
 x7 r73 -1
 x7 r77 -1
 x7 r78 -1
 x7 r79 -1
 x7 r81 -1
 x7 r128 1
 x7 r131 1
 x7 r132 1
 x7 r134 1
 x7 r135 1
 x7 r137 1
 x7 r138 1
 x7 r139 1
 x7 r141 1
 x7 r142 1
 x7 r143 1
 x7 r159 -1
 x7 r176 -1
 x7 r180 -1
 x7 r183 -1
 x7 r185 -1
 x7 r186 -1
 x7 r187 -1
 x7 r188 1
 x8 objective 0
 x8 r3 1
 x8 r50 1
 x8 r51 1
 x8 r52 1
 x8 r53 1
 x8 r60 1
 x8 r95 -1
 x8 r104 1
 x8 r106 1
 x8 r107 1
 x8 r108 1
 x8 r191 -1
 x9 objective 0
 x9 r3 1
 x9 r6 1
 x9 r40 1
 x9 r41 1
 x9 r43 1
 x9 r44 1
 x9 r45 -1
 x9 r46 -1
 x9 r48 -1
 x9 r49 -1
 x9 r154 -1
 x9 r160 1
 x10 objective 0
 x10 r3 1
 x10 r39 1
 x10 r61 -1
 x10 r63 -1
 x10 r64 -1
 x10 r82 -1
 x10 r83 -1
 x10 r84 -1
 x10 r88 -1
 x10 r89 -1
 x10 r90 -1
 x10 r92 -1
 x10 r110 -1
 x10 r111 -1
 x10 r112 -1
 x10 r113 -1
 x10 r123 1
 x10 r124 1
 x10 r126 1
 x10 r127 1
 x10 r153 1
 x10 r162 1
 x10 r170 -1
 x10 r194 -1
 x10 r195 -1
 x10 r196 -1
 x10 r200 -1
 x10 r201 -1
 x10 r202 -1
 x10 r204 -1
 x10 r205 1
 x10 r207 1
 x10 r208 1
 x11 objective 0
 x11 r4 1
 x11 r6 1
 x11 r7 -1
 x11 r45 -1
 x11 r46 -1
 x11 r47 -1
 x11 r49 -1
 x11 r51 1
 x11 r54 1
 x11 r57 1
 x11 r58 1
 x11 r60 1
 x11 r61 1
 x11 r62 1
 x11 r64 1
 x11 r73 -1
 x11 r75 -1
 x11 r76 -1
 x11 r78 -1
 x11 r79 -1
 x11 r80 -1
 x11 r81 -1
 x11 r94 1
 x11 r96 -1
 x11 r98 -1
 x11 r99 -1
 x11 r100 -1
 x11 r116 -1
 x11 r118 -1
 x11 r119 -1
 x11 r120 -1
 x11 r123 1
 x11 r124 1
 x11 r125 1
 x11 r127 1
 x11 r128 -1
 x11 r129 -1
 x11 r130 -1
 x11 r131 -1
 x11 r132 -1
 x11 r133 -1
 x11 r138 -1
 x11 r139 -1
 x11 r140 -1
 x11 r141 -1
 x11 r143 -1
 x11 r155 -1
 x11 r160 -1
 x11 r172 -1
 x11 r173 -1
 x11 r174 -1
 x11 r175 -1
 x11 r176 -1
 x11 r187 -1
 x11 r190 1
 x11 r205 -1
 x11 r206 -1
 x11 r208 -1
 x12 objective 0
 x12 r4 1
 x12 r11 -1
 x12 r13 -1
 x12 r15 -1
 x12 r16 -1
 x12 r18 -1
 x12 r19 -1
 x12 r20 -1
 x12 r21 -1
 x12 r26 -1
 x12 r27 -1
 x12 r28 -1
 x12 r29 -1
 x12 r36 -1
 x12 r39 1
 x12 r65 1
 x12 r84 -1
 x12 r86 -1
 x12 r87 -1
 x12 r89 -1
 x12 r90 -1
 x12 r91 -1
 x12 r92 -1
 x12 r144 1
 x12 r145 1
 x12 r147 1
 x12 r152 1
 x12 r163 -1
 x12 r168 -1
 x12 r193 1
 x12 r194 1
 x12 r197 1
 x12 r198 1
 x12 r200 1
 x12 r201 1
 x12 r203 1
 x12 r204 1
 x13 objective 0
 x13 r5 1
 x13 r37 -1
 x13 r39 -1
 x13 r45 -1
 x13 r47 -1
 x13 r48 -1
 x13 r49 -1
 x13 r50 -1
 x13 r54 -1
 x13 r55 -1
 x13 r56 -1
 x13 r60 -1
 x13 r62 1
 x13 r63 1
 x13 r64 1
 x13 r145 1
 x13 r146 1
 x13 r147 1
 x13 r172 1
 x13 r177 1
 x13 r178 1
 x13 r179 1
 x13 r180 1
 x13 r187 1
 x13 r196 -1
 x13 r198 -1
 x13 r199 -1
 x13 r201 -1
 x13 r202 -1
 x13 r203 -1
 x13 r204 -1
 x14 objective 0
 x14 r5 1
 x14 r7 1
 x14 r12 -1
 x14 r14 -1
 x14 r15 -1
 x14 r17 -1
 x14 r18 -1
 x14 r19 -1
 x14 r20 -1
 x14 r25 1
 x14 r29 1
 x14 r32 1
 x14 r34 1
 x14 r35 1
 x14 r36 1
 x14 r41 -1
 x14 r42 -1
 x14 r43 -1
 x14 r44 -1
 x14 r65 1
 x14 r68 -1
 x14 r72 -1
 x14 r74 -1
 x14 r76 -1
 x14 r77 -1
 x14 r79 -1
 x14 r80 -1
 x14 r81 -1
 x14 r83 1
 x14 r85 1
 x14 r87 1
 x14 r88 1
 x14 r90 1
 x14 r91 1
 x14 r92 1
 x14 r128 -1
 x14 r129 -1
 x14 r130 -1
 x14 r131 -1
 x14 r132 -1
 x14 r133 -1
 x14 r134 -1
 x14 r135 -1
 x14 r136 -1
 x14 r137 -1
 x14 r143 -1
 x14 r148 1
 x14 r167 1
 x14 r190 -1
 x14 r192 -1
 x15 objective 0
 x15 r5 1
 x15 r6 1
 x15 r96 -1
 x15 r97 -1
 x15 r99 -1
 x15 r100 -1
 x15 r102 1
 x15 r103 1
 x15 r104 1
 x15 r108 1
 x15 r157 1
 x15 r160 1
 x15 r164 -1
 x16 objective -3
 x16 r6 4
 x22 objective 2
 x22 r39 4
 x27 objective 3
 x27 r65 4
 MARKER 'MARKER' 'INTEND'
 x17 objective -3
 x17 r7 1
 x18 objective -2
 x18 r8 1
 x18 r9 1
 x19 objective -1
 x19 r10 1
 x19 r11 1
 x19 r12 1
 x19 r13 1
 x19 r14 1
 x19 r15 1
 x19 r16 1
 x19 r17 1
 x19 r18 1
 x19 r19 1
 x19 r20 3
 x20 objective -2
 x20 r21 1
 x20 r22 1
 x20 r23 1
 x20 r24 1
 x20 r25 1
 x20 r26 1
 x20 r27 1
 x20 r28 1
 x20 r29 1
 x20 r30 1
 x20 r31 1
 x20 r32 1
 x20 r33 1
 x20 r34 1
 x20 r35 1
 x20 r36 5
 x21 objective -3
 x21 r37 1
 x21 r38 1
 x23 objective -2
 x23 r40 1
 x23 r41 1
 x23 r42 1
 x23 r43 1
 x23 r44 2
 x24 objective -1
 x24 r45 1
 x24 r46 1
 x24 r47 1
 x24 r48 1
 x24 r49 2
 x25 objective 2
 x25 r50 1
 x25 r51 1
 x25 r52 1
 x25 r53 1
 x25 r54 1
 x25 r55 1
 x25 r56 1
 x25 r57 1
 x25 r58 1
 x25 r59 1
 x25 r60 4
 x26 objective 2
 x26 r61 1
 x26 r62 1
 x26 r63 1
 x26 r64 2
 x28 objective -1
 x28 r66 1
 x28 r67 1
 x28 r68 1
 x29 objective 1
 x29 r69 1
 x29 r70 1
 x30 objective 2
 x30 r71 1
 x30 r72 1
 x30 r73 1
 x30 r74 1
 x30 r75 1
 x30 r76 1
 x30 r77 1
 x30 r78 1
 x30 r79 1
 x30 r80 1
 x30 r81 3
 x31 objective -2
 x31 r82 1
 x31 r83 1
 x31 r84 1
 x31 r85 1
 x31 r86 1
 x31 r87 1
 x31 r88 1
 x31 r89 1
 x31 r90 1
 x31 r91 1
 x31 r92 3
 x32 objective 2
 x32 r93 1
 x32 r94 1
 x32 r95 1
 x33 objective -2
 x33 r96 1
 x33 r97 1
 x33 r98 1
 x33 r99 1
 x33 r100 2
 x34 objective -3
 x34 r101 1
 x35 objective -1
 x35 r102 1
 x35 r103 1
 x35 r104 1
 x35 r105 1
 x35 r106 1
 x35 r107 1
 x35 r108 3
 x36 objective 1
 x36 r109 1
 x36 r110 1
 x36 r111 1
 x36 r112 1
 x36 r113 2
 x37 objective -1
 x37 r114 1
 x37 r115 1
 x37 r116 1
 x37 r117 1
 x37 r118 1
 x37 r119 1
 x37 r120 3
 x38 objective 3
 x38 r121 1
 x38 r122 1
 x39 objective 2
 x39 r123 1
 x39 r124 1
 x39 r125 1
 x39 r126 1
 x39 r127 2
 x40 objective 1
 x40 r128 1
 x40 r129 1
 x40 r130 1
 x40 r131 1
 x40 r132 1
 x40 r133 1
 x40 r134 1
 x40 r135 1
 x40 r136 1
 x40 r137 1
 x40 r138 1
 x40 r139 1
 x40 r140 1
 x40 r141 1
 x40 r142 1
 x40 r143 3
 x41 objective 2
 x41 r144 1
 x41 r145 1
 x41 r146 1
 x41 r147 2
 x42 objective -1
 x42 r148 1
 x42 r149 1
 x42 r150 1
 x42 r151 1
 x42 r152 1
 x42 r153 1
 x43 objective -2
 x43 r154 1
 x43 r155 1
 x43 r156 1
 x43 r157 1
 x43 r158 1
 x44 objective -3
 x44 r159 1
 x45 objective 3
 x45 r160 1
 x46 objective 1
 x46 r161 1
 x46 r162 1
 x46 r163 1
 x46 r164 1
 x46 r165 1
 x46 r166 1
 x47 objective -1
 x47 r167 1
 x47 r168 1
 x47 r169 1
 x47 r170 1
 x47 r171 1
 x48 objective -3
 x48 r172 1
 x48 r173 1
 x48 r174 1
 x48 r175 1
 x48 r176 1
 x48 r177 1
 x48 r178 1
 x48 r179 1
 x48 r180 1
 x48 r181 1
 x48 r182 1
 x48 r183 1
 x48 r184 1
 x48 r185 1
 x48 r186 1
 x48 r187 5
 x49 objective -3
 x49 r188 1
 x49 r189 1
 x50 objective -1
 x50 r190 1
 x51 objective -1
 x51 r191 1
 x52 objective 3
 x52 r192 1
 x53 objective -2
 x53 r193 1
 x54 objective -1
 x54 r194 1
 x54 r195 1
 x54 r196 1
 x54 r197 1
 x54 r198 1
 x54 r199 1
 x54 r200 1
 x54 r201 1
 x54 r202 1
 x54 r203 1
 x54 r204 3
 x55 objective 3
 x55 r205 1
 x55 r206 1
 x55 r207 1
 x55 r208 2
RHS
 rhs r0 1
 rhs r1 1
 rhs r2 1
 rhs r3 1
 rhs r4 1
 rhs r5 1
 rhs r6 4
 rhs r7 1
 rhs r9 1
 rhs r10 1
 rhs r13 1
 rhs r14 1
 rhs r16 1
 rhs r17 1
 rhs r19 1
 rhs r20 1
 rhs r21 1
 rhs r22 1
 rhs r23 2
 rhs r24 1
 rhs r25 2
 rhs r27 1
 rhs r29 1
 rhs r30 1
 rhs r32 1
 rhs r33 1
 rhs r34 2
 rhs r35 1
 rhs r36 3
 rhs r38 1
 rhs r39 2
 rhs r40 2
 rhs r41 2
 rhs r42 1
 rhs r43 1
 rhs r44 2
 rhs r51 1
 rhs r55 -1
 rhs r56 -1
 rhs r59 -1
 rhs r60 1
 rhs r62 1
 rhs r64 1
 rhs r65 3
 rhs r66 1
 rhs r72 -1
 rhs r73 -1
 rhs r76 -1
 rhs r77 -1
 rhs r78 -1
 rhs r79 -2
 rhs r80 -1
 rhs r83 1
 rhs r85 1
 rhs r87 1
 rhs r88 1
 rhs r90 1
 rhs r91 1
 rhs r92 1
 rhs r93 1
 rhs r94 1
 rhs r96 1
 rhs r97 2
 rhs r98 2
 rhs r99 1
 rhs r100 2
 rhs r101 2
 rhs r102 1
 rhs r103 1
 rhs r104 2
 rhs r106 1
 rhs r107 1
 rhs r108 2
 rhs r109 -1
 rhs r110 -2
 rhs r111 -1
 rhs r112 -1
 rhs r113 -1
 rhs r114 2
 rhs r115 1
 rhs r116 1
 rhs r117 1
 rhs r118 1
 rhs r120 2
 rhs r121 1
 rhs r122 1
 rhs r123 1
 rhs r124 1
 rhs r125 1
 rhs r126 1
 rhs r127 2
 rhs r128 -2
 rhs r129 -2
 rhs r130 -2
 rhs r131 -1
 rhs r132 -1
 rhs r133 -1
 rhs r134 -1
 rhs r135 -1
 rhs r136 -1
 rhs r138 -1
 rhs r139 -1
 rhs r140 -1
 rhs r144 1
 rhs r145 1
 rhs r146 1
 rhs r147 2
 rhs r148 1
 rhs r149 1
 rhs r150 1
 rhs r151 1
 rhs r152 1
 rhs r153 1
 rhs r156 1
 rhs r157 1
 rhs r160 -1
 rhs r161 1
 rhs r162 1
 rhs r166 1
 rhs r167 1
 rhs r169 1
 rhs r172 1
 rhs r174 1
 rhs r175 1
 rhs r177 1
 rhs r178 2
 rhs r179 2
 rhs r180 1
 rhs r181 1
 rhs r182 1
 rhs r184 2
 rhs r185 1
 rhs r186 1
 rhs r187 3
 rhs r188 1
 rhs r190 2
 rhs r193 3
 rhs r194 1
 rhs r195 1
 rhs r197 2
 rhs r198 1
 rhs r199 1
 rhs r200 2
 rhs r201 1
 rhs r202 1
 rhs r203 2
 rhs r204 2
 rhs r206 -1
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
ENDATA
