/* Frames on the serial line, as golden/soc/serial/host_link.py has them. */

#ifndef LINE_H
#define LINE_H

#include <stdint.h>

enum { HELLO, CLAIM, READ, WRITE, RUN = 7 };
enum { FAILED = 2, RESET = 4 };

typedef struct {
    uint8_t sequence, command;
    uint32_t address, value;
} request;

/* Wait for a request that is whole; `place` tells where the bytes of a WRITE go, 0 if nowhere. */
request line_request(uint8_t *(*place)(const request *asked));

/* Answer it. */
void line_answer(const request *asked, const uint8_t *data, uint32_t bytes, uint8_t status);

#endif
