/* Copies of strided arrays. */

#ifndef TT_COPIES_H
#define TT_COPIES_H

#include <stddef.h>

/* Writes the bytes of one element over and over. */
void fill_elements(char *to, size_t nbytes, const char *element, size_t width);

/* Copies the elements of an array, `width` bytes each, in order; strides are in bytes. */
void copy_strided(char *to, const char *from, int ndim, const ptrdiff_t *dims, const ptrdiff_t *strides, size_t width);

#endif
