/* What the driver uses of C's library, which a processor by itself does not have. */

#ifndef STRING_H
#define STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t bytes);
int memcmp(const void *one, const void *other, size_t bytes);
void *memset(void *to, int value, size_t bytes);

#endif
