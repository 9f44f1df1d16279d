import { ModelConfig } from '../../protocol/proto/model-config.js';
import { type ParseError, parseText } from './parser.js';
import type { PositionMap } from './position-map.js';

/** Result of reading a configuration: with any error the configuration is not to be used. */
export interface ReadPbtxtResult {
  readonly config: ModelConfig;
  /** Place of every value, by field path. */
  readonly positions: PositionMap;
  /** In the order in which protobuf prints them. */
  readonly errors: readonly ParseError[];
}

/** Reads the text of a config.pbtxt. Columns count bytes; a tab moves to the next multiple of 8. */
export function readPbtxt(text: Uint8Array | string): ReadPbtxtResult {
  const bytes = typeof text === 'string' ? Buffer.from(text, 'utf8') : text;
  const { message, positions, errors } = parseText(bytes, ModelConfig);
  return { config: message as ModelConfig, positions, errors };
}
