/** The JSON forms of a model configuration. */
import { ModelConfig } from '../../protocol/proto/model-config.js';
import { messageFromJson } from './from-json.js';
import { messageToJson } from './to-json.js';

/** The configuration as Triton's endpoint `v2/models/<model>/config` responds with it. */
export function configToJson(config: ModelConfig): string {
  return messageToJson(config, ModelConfig);
}

/**
 * Reads a configuration from JSON: camelCase and proto names, integers as numbers or strings, enums by name or number.
 * Throws INVALID_ARG with protobuf's text, without any `Invalid config override: ` in front.
 */
export function configFromJson(text: string): ModelConfig {
  return messageFromJson(text, ModelConfig);
}
