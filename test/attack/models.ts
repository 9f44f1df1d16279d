import type { Files } from '../support/machine/temporary-directory.js';

const io = (type: string, dims: string): string =>
  `input { name: "INPUT0" data_type: ${type} dims: ${dims} } output { name: "OUTPUT0" data_type: ${type} dims: ${dims} }`;
const ONE = 'instance_group { count: 1 kind: KIND_CPU }';

/** Models of the server under attack: name -> configuration. */
const MODELS: Readonly<Record<string, string>> = {
  identity: `${io('TYPE_INT32', '[4]')} max_batch_size: 8`,
  batched: `${io('TYPE_INT32', '[4]')} max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 500 }`,
  wide: `${io('TYPE_INT32', '[-1]')} max_batch_size: 8`,
  floats: `${io('TYPE_FP32', '[-1]')} max_batch_size: 8`,
  texts: `${io('TYPE_STRING', '[-1]')} max_batch_size: 8`,
  /** Half-full batches wait for 20 ms: what is cancelled meanwhile has to leave the queue. */
  queued: `${io('TYPE_INT32', '[4]')} max_batch_size: 8 ${ONE}
    dynamic_batching { preferred_batch_size: 8 max_queue_delay_microseconds: 20000 }`,
  /** A batch that is never full: everything waits until the attack is over. */
  waiting: `${io('TYPE_INT32', '[-1]')} max_batch_size: 1000000 ${ONE}
    dynamic_batching { preferred_batch_size: 1000000 max_queue_delay_microseconds: 3000000 }`,
  sequence: `${io('TYPE_INT32', '[4]')} max_batch_size: 4 ${ONE}
    sequence_batching { max_sequence_idle_microseconds: 1000000 }`,
  sequence_wide: `${io('TYPE_INT32', '[-1]')} max_batch_size: 4 ${ONE}
    sequence_batching { max_sequence_idle_microseconds: 1000000 }`,
};

/** Names of the models of the identity backend. */
export const MODEL_NAMES: readonly string[] = Object.keys(MODELS);

/** Their files. */
export const MODEL_FILES: Files = Object.fromEntries(
  Object.entries(MODELS).flatMap(([name, config]) => [
    [`${name}/config.pbtxt`, `name: "${name}" backend: "identity" ${config}\n`],
    [`${name}/1/`, ''],
  ]),
);
