/*
 * mark.h - the marks that a benchmark puts around one operation, and that the meter looks for.
 *
 * A mark is a 7-byte NOP whose displacement is never used: `0f 1f 80` and 32 bits, of which 24 are
 * ours alone and 8 say which mark it is. It has no effect at any layer and no exit, so that the
 * same agent runs with and without a meter. All 24 bits must match: compilers write NOPs too.
 */
#ifndef AGENT_MARK_H
#define AGENT_MARK_H

#define METER_MARK_SIZE 7
#define METER_MARK_MAGIC 0x6e6c4d00U /* "nlM" */
#define METER_MARK_BEGIN 1U
#define METER_MARK_END 2U

/* The compiler moves no memory access across it. */
#define METER_MARK(which)                                                                          \
    __asm__ volatile(".byte 0x0f, 0x1f, 0x80\n\t.long %c0"                                         \
                     :                                                                             \
                     : "i"(METER_MARK_MAGIC | (which))                                             \
                     : "memory")

#endif
