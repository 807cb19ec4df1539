* negated objective of a maximization
NAME few-parities FREE
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
 G r10
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
 L r68
 L r69
 L r70
 L r71
 L r72
 L r73
 L r74
 L r75
 L r76
 L r77
 L r78
 L r79
 L r80
 L r81
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
 L r93
 L r94
 L r95
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
 G r107
 G r108
 G r109
 G r110
 G r111
 G r112
 G r113
 G r114
 G r115
 G r116
 G r117
 G r118
 G r119
 G r120
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
 L r145
 L r146
 L r147
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
 L r160
 L r161
 L r162
 L r163
 L r164
 L r165
 L r166
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
 G r183
 G r184
 G r185
 G r186
 G r187
 G r188
 G r189
 G r190
 G r191
 G r192
 G r193
 G r194
 G r195
 G r196
 G r197
 G r198
 G r199
 G r200
 G r201
 G r202
 G r203
 G r204
 G r205
 G r206
 G r207
 G r208
 G r209
 G r210
 G r211
 G r212
 G r213
 G r214
 G r215
 G r216
 G r217
 G r218
 G r219
 G r220
 L r221
 L r222
 L r223
 L r224
 L r225
 L r226
 L r227
 L r228
 L r229
 L r230
 L r231
 L r232
 L r233
 L r234
 L r235
 L r236
 L r237
 L r238
 L r239
 L r240
 L r241
 L r242
 L r243
 L r244
 L r245
 L r246
 L r247
 L r248
 L r249
 L r250
 L r251
 L r252
 L r253
 L r254
 L r255
 L r256
 L r257
 L r258
 G r259
 G r260
 G r261
 G r262
 G r263
 G r264
 G r265
 G r266
 G r267
 G r268
 G r269
 G r270
 G r271
 G r272
 G r273
 G r274
 G r275
 G r276
 G r277
 G r278
 G r279
 G r280
 G r281
 G r282
 G r283
 G r284
 G r285
 G r286
 G r287
 G r288
 G r289
 G r290
 G r291
 G r292
 G r293
 G r294
 G r295
 G r296
 L r297
 L r298
 L r299
 L r300
 L r301
 L r302
 L r303
 L r304
 L r305
 L r306
 L r307
 L r308
 L r309
 L r310
 L r311
 L r312
 L r313
 L r314
 L r315
 L r316
 L r317
 L r318
 G r319
 G r320
 G r321
 G r322
 G r323
 G r324
 G r325
 G r326
 G r327
 G r328
 G r329
 G r330
 G r331
 G r332
 G r333
 G r334
 G r335
 G r336
 G r337
 G r338
 G r339
 G r340
 L r341
 L r342
 L r343
 L r344
 L r345
 L r346
 L r347
 L r348
 L r349
 L r350
 L r351
 L r352
 L r353
 L r354
 L r355
 L r356
 L r357
 L r358
 L r359
 L r360
 L r361
 L r362
 L r363
 L r364
 L r365
 L r366
 L r367
 L r368
 L r369
 L r370
 L r371
 L r372
 L r373
 L r374
 L r375
 L r376
 L r377
 L r378
COLUMNS
 MARKER 'MARKER' 'INTORG'
 x0 objective 0
 x0 r0 1
 x0 r11 1
 x0 r13 -1
 x0 r14 1
 x0 r15 -1
 x0 r17 -1
 x0 r26 1
 x0 r29 1
 x0 r32 -1
 x0 r86 1
 x0 r105 -1
 x0 r124 -1
 x0 r143 1
 x0 r151 1
 x0 r170 -1
 x0 r189 -1
 x0 r208 1
 x0 r231 1
 x0 r250 -1
 x0 r269 -1
 x0 r288 1
 x0 r341 -1
 x0 r344 -1
 x0 r345 -1
 x0 r370 1
 x0 r373 1
 x0 r374 1
 x1 objective 0
 x1 r0 1
 x1 r18 1
 x1 r20 1
 x1 r22 -1
 x1 r24 1
 x1 r27 1
 x1 r30 -1
 x1 r33 -1
 x1 r35 -1
 x1 r39 1
 x1 r46 -1
 x1 r49 1
 x1 r52 1
 x1 r55 -1
 x1 r58 -1
 x1 r61 1
 x1 r68 -1
 x1 r80 -1
 x1 r81 1
 x1 r82 1
 x1 r83 -1
 x1 r84 -1
 x1 r99 1
 x1 r100 -1
 x1 r101 -1
 x1 r102 1
 x1 r103 1
 x1 r118 -1
 x1 r119 1
 x1 r120 1
 x1 r121 -1
 x1 r122 -1
 x1 r137 1
 x1 r138 -1
 x1 r139 -1
 x1 r140 1
 x1 r141 1
 x1 r146 1
 x1 r147 -1
 x1 r161 -1
 x1 r165 -1
 x1 r166 1
 x1 r180 1
 x1 r184 -1
 x1 r185 1
 x1 r199 1
 x1 r203 1
 x1 r204 -1
 x1 r218 -1
 x1 r226 1
 x1 r239 -1
 x1 r245 -1
 x1 r258 1
 x1 r264 -1
 x1 r277 1
 x1 r283 1
 x1 r296 -1
 x1 r354 1
 x1 r364 -1
 x2 objective 0
 x2 r1 1
 x2 r13 -1
 x2 r14 1
 x2 r21 -1
 x2 r23 1
 x2 r25 -1
 x2 r36 1
 x2 r37 1
 x2 r44 -1
 x2 r47 -1
 x2 r50 -1
 x2 r53 1
 x2 r56 1
 x2 r59 1
 x2 r66 -1
 x2 r78 1
 x2 r83 1
 x2 r97 -1
 x2 r102 -1
 x2 r116 -1
 x2 r121 -1
 x2 r135 1
 x2 r140 1
 x2 r153 1
 x2 r172 -1
 x2 r191 -1
 x2 r210 1
 x2 r347 1
 x2 r376 -1
 x3 objective 0
 x3 r1 1
 x3 r6 1
 x3 r40 -1
 x3 r41 1
 x3 r42 -1
 x3 r43 -1
 x3 r62 1
 x3 r63 1
 x3 r64 -1
 x3 r65 1
 x3 r163 -1
 x3 r182 1
 x3 r201 1
 x3 r220 -1
 x3 r236 -1
 x3 r238 -1
 x3 r255 1
 x3 r257 1
 x3 r274 1
 x3 r276 1
 x3 r293 -1
 x3 r295 -1
 x3 r298 -1
 x3 r300 1
 x3 r306 1
 x3 r309 1
 x3 r311 -1
 x3 r317 -1
 x3 r320 1
 x3 r322 -1
 x3 r328 -1
 x3 r331 -1
 x3 r333 1
 x3 r339 1
 x3 r351 -1
 x3 r353 1
 x3 r356 -1
 x3 r361 1
 x3 r363 -1
 x3 r366 1
 x4 objective 0
 x4 r1 1
 x4 r7 1
 x4 r19 1
 x4 r28 -1
 x4 r31 1
 x4 r34 -1
 x4 r74 1
 x4 r93 -1
 x4 r112 1
 x4 r131 -1
 x4 r224 -1
 x4 r225 -1
 x4 r243 1
 x4 r244 1
 x4 r262 1
 x4 r263 1
 x4 r281 -1
 x4 r282 -1
 x4 r297 -1
 x4 r308 1
 x4 r319 1
 x4 r330 -1
 x5 objective 0
 x5 r2 1
 x5 r19 1
 x5 r28 -1
 x5 r31 -1
 x5 r34 1
 x5 r39 -1
 x5 r40 -1
 x5 r41 1
 x5 r42 1
 x5 r43 1
 x5 r46 -1
 x5 r49 -1
 x5 r52 1
 x5 r55 -1
 x5 r58 1
 x5 r61 1
 x5 r62 -1
 x5 r63 -1
 x5 r64 -1
 x5 r65 1
 x5 r68 1
 x5 r70 -1
 x5 r72 -1
 x5 r76 1
 x5 r85 -1
 x5 r87 1
 x5 r89 1
 x5 r91 1
 x5 r95 -1
 x5 r104 1
 x5 r106 -1
 x5 r108 1
 x5 r110 1
 x5 r114 1
 x5 r123 -1
 x5 r125 -1
 x5 r127 -1
 x5 r129 -1
 x5 r133 -1
 x5 r142 1
 x5 r144 1
 x5 r154 1
 x5 r158 -1
 x5 r173 -1
 x5 r177 1
 x5 r192 -1
 x5 r196 1
 x5 r211 1
 x5 r215 -1
 x5 r221 1
 x5 r240 -1
 x5 r259 -1
 x5 r278 1
 x5 r305 -1
 x5 r316 1
 x5 r327 1
 x5 r338 -1
 x5 r352 -1
 x5 r362 1
 x6 objective 0
 x6 r2 1
 x6 r12 -1
 x6 r16 1
 x6 r21 -1
 x6 r23 1
 x6 r25 1
 x6 r36 -1
 x6 r37 -1
 x6 r38 1
 x6 r44 -1
 x6 r45 -1
 x6 r47 -1
 x6 r48 -1
 x6 r50 1
 x6 r51 -1
 x6 r53 -1
 x6 r54 1
 x6 r56 1
 x6 r57 1
 x6 r59 1
 x6 r60 1
 x6 r66 1
 x6 r67 -1
 x6 r75 -1
 x6 r79 -1
 x6 r81 1
 x6 r94 1
 x6 r98 1
 x6 r100 -1
 x6 r113 -1
 x6 r117 1
 x6 r119 -1
 x6 r132 1
 x6 r136 -1
 x6 r138 1
 x6 r149 1
 x6 r168 -1
 x6 r187 -1
 x6 r206 1
 x6 r235 1
 x6 r254 -1
 x6 r273 -1
 x6 r292 1
 x6 r299 -1
 x6 r301 1
 x6 r310 1
 x6 r312 -1
 x6 r321 1
 x6 r323 -1
 x6 r332 -1
 x6 r334 1
 x6 r346 -1
 x6 r375 1
 x7 objective 0
 x7 r3 1
 x7 r8 -1
 x7 r38 1
 x7 r40 -1
 x7 r41 -1
 x7 r42 1
 x7 r43 -1
 x7 r45 1
 x7 r48 1
 x7 r51 -1
 x7 r54 1
 x7 r57 -1
 x7 r60 -1
 x7 r62 1
 x7 r63 -1
 x7 r64 1
 x7 r65 1
 x7 r67 -1
 x7 r87 1
 x7 r106 -1
 x7 r125 1
 x7 r144 -1
 x7 r152 1
 x7 r171 -1
 x7 r190 -1
 x7 r209 1
 x7 r237 -1
 x7 r256 1
 x7 r275 1
 x7 r294 -1
 x7 r303 -1
 x7 r314 1
 x7 r325 1
 x7 r336 -1
 x8 objective 0
 x8 r3 1
 x8 r17 1
 x8 r26 -1
 x8 r29 1
 x8 r32 -1
 x8 r37 1
 x8 r44 1
 x8 r47 -1
 x8 r50 1
 x8 r53 -1
 x8 r56 1
 x8 r59 -1
 x8 r66 -1
 x8 r71 -1
 x8 r80 -1
 x8 r84 -1
 x8 r90 1
 x8 r99 1
 x8 r103 1
 x8 r109 -1
 x8 r118 1
 x8 r122 1
 x8 r128 1
 x8 r137 -1
 x8 r141 -1
 x8 r348 1
 x8 r377 -1
 x9 objective 0
 x9 r3 1
 x9 r12 -1
 x9 r16 1
 x9 r21 1
 x9 r23 1
 x9 r25 -1
 x9 r36 -1
 x9 r39 -1
 x9 r46 1
 x9 r49 1
 x9 r52 1
 x9 r55 -1
 x9 r58 -1
 x9 r61 -1
 x9 r68 1
 x9 r162 -1
 x9 r181 1
 x9 r200 1
 x9 r219 -1
 x9 r230 1
 x9 r249 -1
 x9 r268 -1
 x9 r287 1
 x10 objective 0
 x10 r3 1
 x10 r11 1
 x10 r15 -1
 x10 r70 -1
 x10 r75 1
 x10 r77 -1
 x10 r89 1
 x10 r94 -1
 x10 r96 1
 x10 r108 -1
 x10 r113 -1
 x10 r115 1
 x10 r127 1
 x10 r132 1
 x10 r134 -1
 x10 r145 -1
 x10 r148 -1
 x10 r155 1
 x10 r164 1
 x10 r167 1
 x10 r174 -1
 x10 r183 1
 x10 r186 1
 x10 r193 -1
 x10 r202 -1
 x10 r205 -1
 x10 r212 1
 x10 r343 -1
 x10 r372 1
 x11 objective 0
 x11 r4 1
 x11 r9 1
 x11 r18 -1
 x11 r27 1
 x11 r30 1
 x11 r33 -1
 x11 r69 -1
 x11 r71 -1
 x11 r79 1
 x11 r82 -1
 x11 r88 1
 x11 r90 1
 x11 r98 -1
 x11 r101 1
 x11 r107 1
 x11 r109 1
 x11 r117 1
 x11 r120 1
 x11 r126 -1
 x11 r128 -1
 x11 r136 -1
 x11 r139 -1
 x11 r156 -1
 x11 r157 -1
 x11 r175 1
 x11 r176 1
 x11 r194 1
 x11 r195 1
 x11 r213 -1
 x11 r214 -1
 x11 r229 1
 x11 r248 -1
 x11 r267 -1
 x11 r286 1
 x11 r302 -1
 x11 r304 -1
 x11 r313 1
 x11 r315 1
 x11 r324 1
 x11 r326 1
 x11 r335 -1
 x11 r337 -1
 x11 r342 1
 x11 r371 -1
 x12 objective 0
 x12 r4 1
 x12 r10 -1
 x12 r17 1
 x12 r20 -1
 x12 r22 1
 x12 r24 1
 x12 r26 1
 x12 r29 -1
 x12 r32 -1
 x12 r35 -1
 x12 r38 1
 x12 r45 -1
 x12 r48 1
 x12 r51 1
 x12 r54 -1
 x12 r57 -1
 x12 r60 1
 x12 r67 -1
 x12 r73 -1
 x12 r74 1
 x12 r76 -1
 x12 r92 1
 x12 r93 -1
 x12 r95 1
 x12 r111 1
 x12 r112 -1
 x12 r114 1
 x12 r130 -1
 x12 r131 1
 x12 r133 -1
 x12 r160 1
 x12 r179 -1
 x12 r198 -1
 x12 r217 1
 x12 r222 1
 x12 r241 -1
 x12 r260 -1
 x12 r279 1
 x12 r357 -1
 x12 r358 -1
 x12 r359 1
 x12 r367 1
 x12 r368 1
 x12 r369 -1
 x13 objective 0
 x13 r5 1
 x13 r19 -1
 x13 r28 -1
 x13 r31 1
 x13 r34 1
 x13 r38 1
 x13 r39 -1
 x13 r45 1
 x13 r46 -1
 x13 r48 -1
 x13 r49 1
 x13 r51 1
 x13 r52 -1
 x13 r54 -1
 x13 r55 1
 x13 r57 1
 x13 r58 -1
 x13 r60 -1
 x13 r61 1
 x13 r67 -1
 x13 r68 1
 x13 r72 -1
 x13 r78 1
 x13 r85 1
 x13 r91 1
 x13 r97 -1
 x13 r104 -1
 x13 r110 -1
 x13 r116 1
 x13 r123 -1
 x13 r129 1
 x13 r135 -1
 x13 r142 1
 x13 r159 1
 x13 r178 -1
 x13 r197 -1
 x13 r216 1
 x13 r228 -1
 x13 r232 -1
 x13 r247 1
 x13 r251 1
 x13 r266 1
 x13 r270 1
 x13 r285 -1
 x13 r289 -1
 x13 r355 -1
 x13 r365 1
 x14 objective 0
 x14 r5 1
 x14 r37 1
 x14 r40 1
 x14 r41 1
 x14 r42 1
 x14 r43 -1
 x14 r44 -1
 x14 r47 1
 x14 r50 1
 x14 r53 -1
 x14 r56 -1
 x14 r59 1
 x14 r62 1
 x14 r63 -1
 x14 r64 -1
 x14 r65 -1
 x14 r66 -1
 x14 r77 -1
 x14 r96 1
 x14 r115 -1
 x14 r134 1
 x14 r349 1
 x14 r378 -1
 x15 objective 0
 x15 r5 1
 x15 r18 1
 x15 r20 -1
 x15 r22 -1
 x15 r24 1
 x15 r27 -1
 x15 r30 1
 x15 r33 -1
 x15 r35 1
 x15 r69 -1
 x15 r73 -1
 x15 r86 1
 x15 r88 1
 x15 r92 1
 x15 r105 -1
 x15 r107 -1
 x15 r111 -1
 x15 r124 1
 x15 r126 1
 x15 r130 1
 x15 r143 -1
 x15 r150 1
 x15 r169 -1
 x15 r188 -1
 x15 r207 1
 x15 r223 1
 x15 r227 -1
 x15 r233 -1
 x15 r234 -1
 x15 r242 -1
 x15 r246 1
 x15 r252 1
 x15 r253 1
 x15 r261 -1
 x15 r265 1
 x15 r271 1
 x15 r272 1
 x15 r280 1
 x15 r284 -1
 x15 r290 -1
 x15 r291 -1
 x15 r307 1
 x15 r318 -1
 x15 r329 -1
 x15 r340 1
 x15 r350 1
 x15 r360 -1
 MARKER 'MARKER' 'INTEND'
 x16 objective -1
 x16 r37 1
 x16 r44 1
 x16 r47 1
 x16 r50 1
 x16 r53 1
 x16 r56 1
 x16 r59 1
 x16 r66 1
 x17 objective -1
 x17 r6 1
 x18 objective -2
 x18 r7 1
 x19 objective 2
 x19 r341 -1
 x19 r370 -1
 x20 objective 2
 x20 r350 -1
 x20 r360 -1
 x21 objective -1
 x21 r351 1
 x21 r361 1
 x22 objective -2
 x22 r342 1
 x22 r371 1
 x23 objective 1
 x23 r343 -1
 x23 r372 -1
 x24 objective -3
 x24 r17 1
 x24 r26 1
 x24 r29 1
 x24 r32 1
 x25 objective 1
 x25 r38 -1
 x25 r45 -1
 x25 r48 -1
 x25 r51 -1
 x25 r54 -1
 x25 r57 -1
 x25 r60 -1
 x25 r67 -1
 x26 objective 2
 x26 r352 -1
 x26 r362 -1
 x27 objective -1
 x27 r13 1
 x27 r14 1
 x28 objective 1
 x28 r20 -1
 x28 r22 -1
 x28 r24 -1
 x28 r35 -1
 x29 objective 3
 x29 r18 -1
 x29 r27 -1
 x29 r30 -1
 x29 r33 -1
 x30 objective -1
 x30 r8 1
 x31 objective 3
 x31 r11 -1
 x31 r15 -1
 x32 objective 2
 x32 r353 -1
 x32 r363 -1
 x33 objective 2
 x33 r344 -1
 x33 r373 -1
 x34 objective -2
 x34 r19 1
 x34 r28 1
 x34 r31 1
 x34 r34 1
 x35 objective -1
 x35 r21 1
 x35 r23 1
 x35 r25 1
 x35 r36 1
 x36 objective 3
 x36 r354 -1
 x36 r364 -1
 x37 objective 1
 x37 r345 -1
 x37 r374 -1
 x38 objective 2
 x38 r355 -1
 x38 r365 -1
 x39 objective -1
 x39 r40 1
 x39 r41 1
 x39 r42 1
 x39 r43 1
 x39 r62 1
 x39 r63 1
 x39 r64 1
 x39 r65 1
 x40 objective -1
 x40 r346 1
 x40 r375 1
 x41 objective 2
 x41 r39 -1
 x41 r46 -1
 x41 r49 -1
 x41 r52 -1
 x41 r55 -1
 x41 r58 -1
 x41 r61 -1
 x41 r68 -1
 x42 objective 2
 x42 r356 -1
 x42 r366 -1
 x43 objective -2
 x43 r9 1
 x44 objective -3
 x44 r347 1
 x44 r376 1
 x45 objective 1
 x45 r348 -1
 x45 r377 -1
 x46 objective 3
 x46 r10 1
 x47 objective 1
 x47 r349 -1
 x47 r378 -1
 x48 objective -2
 x48 r12 1
 x48 r16 1
 x49 objective -1
 x49 r357 1
 x49 r367 1
 x50 objective 2
 x50 r358 -1
 x50 r368 -1
 x51 objective -1
 x51 r359 1
 x51 r369 1
 x52 objective 0
 x52 r69 1
 x52 r88 1
 x52 r107 1
 x52 r126 1
 x52 r145 -1
 x52 r164 1
 x52 r183 -1
 x52 r202 1
 x53 objective 0
 x53 r145 1
 x53 r164 1
 x53 r183 1
 x53 r202 1
 x53 r221 -1
 x53 r240 1
 x53 r259 -1
 x53 r278 1
 x54 objective 0
 x54 r221 1
 x54 r240 1
 x54 r259 1
 x54 r278 1
 x54 r297 -1
 x54 r308 1
 x54 r319 -1
 x54 r330 1
 x55 objective 0
 x55 r297 1
 x55 r308 1
 x55 r319 1
 x55 r330 1
 x55 r341 -1
 x55 r370 1
 x56 objective 0
 x56 r70 1
 x56 r89 1
 x56 r108 1
 x56 r127 1
 x56 r146 -1
 x56 r165 1
 x56 r184 -1
 x56 r203 1
 x57 objective 0
 x57 r146 1
 x57 r165 1
 x57 r184 1
 x57 r203 1
 x57 r222 -1
 x57 r241 1
 x57 r260 -1
 x57 r279 1
 x58 objective 0
 x58 r222 1
 x58 r241 1
 x58 r260 1
 x58 r279 1
 x58 r298 -1
 x58 r309 1
 x58 r320 -1
 x58 r331 1
 x59 objective 0
 x59 r298 1
 x59 r309 1
 x59 r320 1
 x59 r331 1
 x59 r350 1
 x59 r360 -1
 x60 objective 0
 x60 r71 1
 x60 r90 1
 x60 r109 1
 x60 r128 1
 x60 r147 -1
 x60 r166 1
 x60 r185 -1
 x60 r204 1
 x61 objective 0
 x61 r147 1
 x61 r166 1
 x61 r185 1
 x61 r204 1
 x61 r223 -1
 x61 r242 1
 x61 r261 -1
 x61 r280 1
 x62 objective 0
 x62 r223 1
 x62 r242 1
 x62 r261 1
 x62 r280 1
 x62 r299 -1
 x62 r310 1
 x62 r321 -1
 x62 r332 1
 x63 objective 0
 x63 r299 1
 x63 r310 1
 x63 r321 1
 x63 r332 1
 x63 r351 1
 x63 r361 -1
 x64 objective 0
 x64 r72 1
 x64 r91 1
 x64 r110 1
 x64 r129 1
 x64 r148 -1
 x64 r167 1
 x64 r186 -1
 x64 r205 1
 x65 objective 0
 x65 r148 1
 x65 r167 1
 x65 r186 1
 x65 r205 1
 x65 r224 -1
 x65 r243 1
 x65 r262 -1
 x65 r281 1
 x66 objective 0
 x66 r224 1
 x66 r243 1
 x66 r262 1
 x66 r281 1
 x66 r342 -1
 x66 r371 1
 x67 objective 0
 x67 r73 1
 x67 r92 1
 x67 r111 1
 x67 r130 1
 x67 r149 -1
 x67 r168 1
 x67 r187 -1
 x67 r206 1
 x68 objective 0
 x68 r149 1
 x68 r168 1
 x68 r187 1
 x68 r206 1
 x68 r225 -1
 x68 r244 1
 x68 r263 -1
 x68 r282 1
 x69 objective 0
 x69 r225 1
 x69 r244 1
 x69 r263 1
 x69 r282 1
 x69 r343 -1
 x69 r372 1
 x70 objective 0
 x70 r74 1
 x70 r93 1
 x70 r112 1
 x70 r131 1
 x70 r150 -1
 x70 r169 1
 x70 r188 -1
 x70 r207 1
 x71 objective 0
 x71 r150 1
 x71 r169 1
 x71 r188 1
 x71 r207 1
 x71 r226 -1
 x71 r245 1
 x71 r264 -1
 x71 r283 1
 x72 objective 0
 x72 r226 1
 x72 r245 1
 x72 r264 1
 x72 r283 1
 x72 r352 1
 x72 r362 -1
 x73 objective 0
 x73 r75 1
 x73 r94 1
 x73 r113 1
 x73 r132 1
 x73 r151 -1
 x73 r170 1
 x73 r189 -1
 x73 r208 1
 x74 objective 0
 x74 r151 1
 x74 r170 1
 x74 r189 1
 x74 r208 1
 x74 r227 -1
 x74 r246 1
 x74 r265 -1
 x74 r284 1
 x75 objective 0
 x75 r227 1
 x75 r246 1
 x75 r265 1
 x75 r284 1
 x75 r353 1
 x75 r363 -1
 x76 objective 0
 x76 r76 1
 x76 r95 1
 x76 r114 1
 x76 r133 1
 x76 r152 -1
 x76 r171 1
 x76 r190 -1
 x76 r209 1
 x77 objective 0
 x77 r152 1
 x77 r171 1
 x77 r190 1
 x77 r209 1
 x77 r228 -1
 x77 r247 1
 x77 r266 -1
 x77 r285 1
 x78 objective 0
 x78 r228 1
 x78 r247 1
 x78 r266 1
 x78 r285 1
 x78 r300 -1
 x78 r311 1
 x78 r322 -1
 x78 r333 1
 x79 objective 0
 x79 r300 1
 x79 r311 1
 x79 r322 1
 x79 r333 1
 x79 r344 -1
 x79 r373 1
 x80 objective 0
 x80 r77 1
 x80 r96 1
 x80 r115 1
 x80 r134 1
 x80 r153 -1
 x80 r172 1
 x80 r191 -1
 x80 r210 1
 x81 objective 0
 x81 r153 1
 x81 r172 1
 x81 r191 1
 x81 r210 1
 x81 r229 -1
 x81 r248 1
 x81 r267 -1
 x81 r286 1
 x82 objective 0
 x82 r229 1
 x82 r248 1
 x82 r267 1
 x82 r286 1
 x82 r301 -1
 x82 r312 1
 x82 r323 -1
 x82 r334 1
 x83 objective 0
 x83 r301 1
 x83 r312 1
 x83 r323 1
 x83 r334 1
 x83 r354 1
 x83 r364 -1
 x84 objective 0
 x84 r78 1
 x84 r97 1
 x84 r116 1
 x84 r135 1
 x84 r154 -1
 x84 r173 1
 x84 r192 -1
 x84 r211 1
 x85 objective 0
 x85 r154 1
 x85 r173 1
 x85 r192 1
 x85 r211 1
 x85 r230 -1
 x85 r249 1
 x85 r268 -1
 x85 r287 1
 x86 objective 0
 x86 r230 1
 x86 r249 1
 x86 r268 1
 x86 r287 1
 x86 r302 -1
 x86 r313 1
 x86 r324 -1
 x86 r335 1
 x87 objective 0
 x87 r302 1
 x87 r313 1
 x87 r324 1
 x87 r335 1
 x87 r345 -1
 x87 r374 1
 x88 objective 0
 x88 r79 1
 x88 r98 1
 x88 r117 1
 x88 r136 1
 x88 r155 -1
 x88 r174 1
 x88 r193 -1
 x88 r212 1
 x89 objective 0
 x89 r155 1
 x89 r174 1
 x89 r193 1
 x89 r212 1
 x89 r231 -1
 x89 r250 1
 x89 r269 -1
 x89 r288 1
 x90 objective 0
 x90 r231 1
 x90 r250 1
 x90 r269 1
 x90 r288 1
 x90 r355 1
 x90 r365 -1
 x91 objective 0
 x91 r80 1
 x91 r99 1
 x91 r118 1
 x91 r137 1
 x91 r156 -1
 x91 r175 1
 x91 r194 -1
 x91 r213 1
 x92 objective 0
 x92 r156 1
 x92 r175 1
 x92 r194 1
 x92 r213 1
 x92 r232 -1
 x92 r251 1
 x92 r270 -1
 x92 r289 1
 x93 objective 0
 x93 r232 1
 x93 r251 1
 x93 r270 1
 x93 r289 1
 x93 r346 -1
 x93 r375 1
 x94 objective 0
 x94 r81 1
 x94 r100 1
 x94 r119 1
 x94 r138 1
 x94 r157 -1
 x94 r176 1
 x94 r195 -1
 x94 r214 1
 x95 objective 0
 x95 r157 1
 x95 r176 1
 x95 r195 1
 x95 r214 1
 x95 r233 -1
 x95 r252 1
 x95 r271 -1
 x95 r290 1
 x96 objective 0
 x96 r233 1
 x96 r252 1
 x96 r271 1
 x96 r290 1
 x96 r303 -1
 x96 r314 1
 x96 r325 -1
 x96 r336 1
 x97 objective 0
 x97 r303 1
 x97 r314 1
 x97 r325 1
 x97 r336 1
 x97 r356 1
 x97 r366 -1
 x98 objective 0
 x98 r82 1
 x98 r101 1
 x98 r120 1
 x98 r139 1
 x98 r158 -1
 x98 r177 1
 x98 r196 -1
 x98 r215 1
 x99 objective 0
 x99 r158 1
 x99 r177 1
 x99 r196 1
 x99 r215 1
 x99 r234 -1
 x99 r253 1
 x99 r272 -1
 x99 r291 1
 x100 objective 0
 x100 r234 1
 x100 r253 1
 x100 r272 1
 x100 r291 1
 x100 r347 -1
 x100 r376 1
 x101 objective 0
 x101 r83 1
 x101 r102 1
 x101 r121 1
 x101 r140 1
 x101 r159 -1
 x101 r178 1
 x101 r197 -1
 x101 r216 1
 x102 objective 0
 x102 r159 1
 x102 r178 1
 x102 r197 1
 x102 r216 1
 x102 r235 -1
 x102 r254 1
 x102 r273 -1
 x102 r292 1
 x103 objective 0
 x103 r235 1
 x103 r254 1
 x103 r273 1
 x103 r292 1
 x103 r304 -1
 x103 r315 1
 x103 r326 -1
 x103 r337 1
 x104 objective 0
 x104 r304 1
 x104 r315 1
 x104 r326 1
 x104 r337 1
 x104 r348 -1
 x104 r377 1
 x105 objective 0
 x105 r84 1
 x105 r103 1
 x105 r122 1
 x105 r141 1
 x105 r160 -1
 x105 r179 1
 x105 r198 -1
 x105 r217 1
 x106 objective 0
 x106 r160 1
 x106 r179 1
 x106 r198 1
 x106 r217 1
 x106 r236 -1
 x106 r255 1
 x106 r274 -1
 x106 r293 1
 x107 objective 0
 x107 r236 1
 x107 r255 1
 x107 r274 1
 x107 r293 1
 x107 r305 -1
 x107 r316 1
 x107 r327 -1
 x107 r338 1
 x108 objective 0
 x108 r305 1
 x108 r316 1
 x108 r327 1
 x108 r338 1
 x108 r349 -1
 x108 r378 1
 x109 objective 0
 x109 r85 1
 x109 r104 1
 x109 r123 1
 x109 r142 1
 x109 r161 -1
 x109 r180 1
 x109 r199 -1
 x109 r218 1
 x110 objective 0
 x110 r161 1
 x110 r180 1
 x110 r199 1
 x110 r218 1
 x110 r237 -1
 x110 r256 1
 x110 r275 -1
 x110 r294 1
 x111 objective 0
 x111 r237 1
 x111 r256 1
 x111 r275 1
 x111 r294 1
 x111 r306 -1
 x111 r317 1
 x111 r328 -1
 x111 r339 1
 x112 objective 0
 x112 r306 1
 x112 r317 1
 x112 r328 1
 x112 r339 1
 x112 r357 1
 x112 r367 -1
 x113 objective 0
 x113 r86 1
 x113 r105 1
 x113 r124 1
 x113 r143 1
 x113 r162 -1
 x113 r181 1
 x113 r200 -1
 x113 r219 1
 x114 objective 0
 x114 r162 1
 x114 r181 1
 x114 r200 1
 x114 r219 1
 x114 r238 -1
 x114 r257 1
 x114 r276 -1
 x114 r295 1
 x115 objective 0
 x115 r238 1
 x115 r257 1
 x115 r276 1
 x115 r295 1
 x115 r358 1
 x115 r368 -1
 x116 objective 0
 x116 r87 1
 x116 r106 1
 x116 r125 1
 x116 r144 1
 x116 r163 -1
 x116 r182 1
 x116 r201 -1
 x116 r220 1
 x117 objective 0
 x117 r163 1
 x117 r182 1
 x117 r201 1
 x117 r220 1
 x117 r239 -1
 x117 r258 1
 x117 r277 -1
 x117 r296 1
 x118 objective 0
 x118 r239 1
 x118 r258 1
 x118 r277 1
 x118 r296 1
 x118 r307 -1
 x118 r318 1
 x118 r329 -1
 x118 r340 1
 x119 objective 0
 x119 r307 1
 x119 r318 1
 x119 r329 1
 x119 r340 1
 x119 r359 1
 x119 r369 -1
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
 rhs r11 1
 rhs r14 2
 rhs r15 -1
 rhs r16 2
 rhs r17 2
 rhs r18 1
 rhs r19 2
 rhs r21 1
 rhs r23 3
 rhs r24 2
 rhs r25 1
 rhs r26 2
 rhs r27 1
 rhs r29 2
 rhs r30 1
 rhs r31 2
 rhs r33 -1
 rhs r34 2
 rhs r36 1
 rhs r37 3
 rhs r38 3
 rhs r40 1
 rhs r41 3
 rhs r42 3
 rhs r43 1
 rhs r44 1
 rhs r45 1
 rhs r47 1
 rhs r48 1
 rhs r49 2
 rhs r50 3
 rhs r51 1
 rhs r52 2
 rhs r53 1
 rhs r54 1
 rhs r56 3
 rhs r57 1
 rhs r59 3
 rhs r60 1
 rhs r61 2
 rhs r62 3
 rhs r63 1
 rhs r64 1
 rhs r65 3
 rhs r66 1
 rhs r67 -1
 rhs r68 2
 rhs r74 2
 rhs r75 1
 rhs r76 1
 rhs r78 2
 rhs r79 1
 rhs r81 2
 rhs r82 1
 rhs r83 1
 rhs r85 1
 rhs r86 2
 rhs r87 2
 rhs r88 2
 rhs r89 2
 rhs r90 2
 rhs r91 2
 rhs r92 2
 rhs r94 1
 rhs r95 1
 rhs r96 2
 rhs r98 1
 rhs r99 2
 rhs r101 1
 rhs r102 1
 rhs r103 2
 rhs r104 1
 rhs r113 -1
 rhs r114 1
 rhs r117 1
 rhs r120 1
 rhs r121 -1
 rhs r123 -1
 rhs r132 1
 rhs r133 -1
 rhs r136 -1
 rhs r139 -1
 rhs r140 1
 rhs r142 1
 rhs r146 1
 rhs r149 1
 rhs r150 1
 rhs r151 1
 rhs r152 1
 rhs r153 1
 rhs r154 1
 rhs r155 1
 rhs r159 1
 rhs r160 1
 rhs r164 2
 rhs r165 1
 rhs r166 2
 rhs r167 2
 rhs r168 1
 rhs r169 1
 rhs r170 1
 rhs r171 1
 rhs r172 1
 rhs r173 1
 rhs r174 1
 rhs r175 2
 rhs r176 2
 rhs r177 2
 rhs r178 1
 rhs r179 1
 rhs r180 2
 rhs r181 2
 rhs r182 2
 rhs r184 -1
 rhs r187 -1
 rhs r188 -1
 rhs r189 -1
 rhs r190 -1
 rhs r191 -1
 rhs r192 -1
 rhs r193 -1
 rhs r197 -1
 rhs r198 -1
 rhs r203 1
 rhs r206 1
 rhs r207 1
 rhs r208 1
 rhs r209 1
 rhs r210 1
 rhs r211 1
 rhs r212 1
 rhs r216 1
 rhs r217 1
 rhs r221 1
 rhs r222 1
 rhs r223 1
 rhs r226 1
 rhs r229 1
 rhs r230 1
 rhs r231 1
 rhs r235 1
 rhs r240 1
 rhs r241 1
 rhs r242 1
 rhs r243 2
 rhs r244 2
 rhs r245 1
 rhs r246 2
 rhs r247 2
 rhs r248 1
 rhs r249 1
 rhs r250 1
 rhs r251 2
 rhs r252 2
 rhs r253 2
 rhs r254 1
 rhs r255 2
 rhs r256 2
 rhs r257 2
 rhs r258 2
 rhs r259 -1
 rhs r260 -1
 rhs r261 -1
 rhs r264 -1
 rhs r267 -1
 rhs r268 -1
 rhs r269 -1
 rhs r273 -1
 rhs r278 1
 rhs r279 1
 rhs r280 1
 rhs r283 1
 rhs r286 1
 rhs r287 1
 rhs r288 1
 rhs r292 1
 rhs r300 1
 rhs r301 1
 rhs r306 1
 rhs r307 1
 rhs r308 2
 rhs r309 2
 rhs r310 2
 rhs r311 1
 rhs r312 1
 rhs r313 2
 rhs r314 2
 rhs r315 2
 rhs r316 2
 rhs r317 1
 rhs r318 1
 rhs r322 -1
 rhs r323 -1
 rhs r328 -1
 rhs r329 -1
 rhs r333 1
 rhs r334 1
 rhs r339 1
 rhs r340 1
 rhs r341 -1
 rhs r342 1
 rhs r343 -1
 rhs r344 -1
 rhs r345 -1
 rhs r347 1
 rhs r350 1
 rhs r351 1
 rhs r353 1
 rhs r354 1
 rhs r357 1
 rhs r359 2
 rhs r360 -1
 rhs r361 1
 rhs r363 -1
 rhs r364 -1
 rhs r367 1
 rhs r370 1
 rhs r371 1
 rhs r372 1
 rhs r373 1
 rhs r374 1
 rhs r375 2
 rhs r376 1
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
 LO bound x94 0
 LO bound x95 0
 LO bound x96 0
 LO bound x97 0
 LO bound x98 0
 LO bound x99 0
 LO bound x100 0
 LO bound x101 0
 LO bound x102 0
 LO bound x103 0
 LO bound x104 0
 LO bound x105 0
 LO bound x106 0
 LO bound x107 0
 LO bound x108 0
 LO bound x109 0
 LO bound x110 0
 LO bound x111 0
 LO bound x112 0
 LO bound x113 0
 LO bound x114 0
 LO bound x115 0
 LO bound x116 0
 LO bound x117 0
 LO bound x118 0
 LO bound x119 0
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
 UP bound x94 1
 UP bound x95 1
 UP bound x96 1
 UP bound x97 1
 UP bound x98 1
 UP bound x99 1
 UP bound x100 1
 UP bound x101 1
 UP bound x102 1
 UP bound x103 1
 UP bound x104 1
 UP bound x105 1
 UP bound x106 1
 UP bound x107 1
 UP bound x108 1
 UP bound x109 1
 UP bound x110 1
 UP bound x111 1
 UP bound x112 1
 UP bound x113 1
 UP bound x114 1
 UP bound x115 1
 UP bound x116 1
 UP bound x117 1
 UP bound x118 1
 UP bound x119 1
ENDATA
