import type { EnumSchema } from '../../protocol/proto/schema.js';

/** Name of an enum's value; '' for a number that the enum does not have. */
export function enumName(type: EnumSchema, value: number): string {
  return Object.keys(type.values).find((name) => type.values[name] === value) ?? '';
}
