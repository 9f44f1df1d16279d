/**
 * The messages of the two inference calls, hand-tuned: no bigint for shapes, maps only where there are parameters,
 * tensor contents as views on the input, large raw contents as chunks of their own on the output (never copied).
 */
export * from './infer-decode.js';
export * from './infer-encode.js';
export * from './infer-types.js';
