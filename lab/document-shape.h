/*
 * document-shape.h - does a JSON value have the shape of a document?
 */
#ifndef NL_DOCUMENT_SHAPE_H
#define NL_DOCUMENT_SHAPE_H

#include "json-place.h"

/* Errors (NL_EXIT_REQUEST) name the place in SOURCE, what is there and what is allowed. Unknown
   keys are fine: newer minor versions and other tools may add some. */
int nl_document_shape(const json_t *document, const struct nl_json_source *source,
                      struct nl_error **err);

/* Of what has the shape: are its layers L0, L1, ... in this order, as figures and messages take for
   granted? A schema cannot say that. Errors likewise. */
int nl_document_layer_names(const json_t *document, const struct nl_json_source *source,
                            struct nl_error **err);

#endif
