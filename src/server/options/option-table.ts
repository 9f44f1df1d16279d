/**
 * Every option of `triton serve` in one table: the command line is read, the help text is printed and the tests are
 * written from it. Names, defaults and error texts: spec of model repositories, section 9.
 */
import { DEPRECATED_OPTIONS } from './deprecated-group.js';
import { GRPC_OPTIONS } from './grpc-group.js';
import { HTTP_OPTIONS } from './http-group.js';
import { MODEL_OPTIONS } from './model-group.js';
import { OBSERVE_OPTIONS } from './observe-group.js';
import type { OptionSpec } from './option-spec.js';
import { RESOURCE_OPTIONS } from './resource-group.js';
import { SERVER_OPTIONS } from './server-group.js';

/** Every option, in the order of the help text. */
export const OPTION_TABLE: readonly OptionSpec[] = [
  { group: 'Global', name: 'help', help: 'Print this text.', apply() {} },
  ...SERVER_OPTIONS,
  ...MODEL_OPTIONS,
  ...HTTP_OPTIONS,
  ...GRPC_OPTIONS,
  ...OBSERVE_OPTIONS,
  ...RESOURCE_OPTIONS,
  ...DEPRECATED_OPTIONS,
];

/** Largest message that gRPC takes and sends, in bytes. */
export const GRPC_MAX_MESSAGE_BYTES = 2147483647;
