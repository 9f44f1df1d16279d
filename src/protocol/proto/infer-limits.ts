/** Most inputs, and most outputs, of one request. */
export const MAX_TENSORS = 10_000;

/** Most dimensions of a shape. */
export const MAX_RANK = 1024;
