import { BadOption } from './parse-value.js';

/** Names of API groups that can be restricted. */
export const RESTRICTED_CATEGORIES = [
  'health',
  'metadata',
  'inference',
  'shared-memory',
  'model-config',
  'model-repository',
  'statistics',
  'trace',
  'logging',
] as const;

/** One group of APIs. */
export type RestrictedCategory = (typeof RESTRICTED_CATEGORIES)[number];

/** Header name and value that a caller must send, by group; a group that is absent is open. */
export type Restrictions = ReadonlyMap<RestrictedCategory, { readonly key: string; readonly value: string }>;

/** How one front end names its restrictions in messages. */
export interface RestrictionWords {
  readonly word: 'api' | 'protocol';
  /** The option with its dashes. */
  readonly option: string;
}

/** `<api,...>:<key>=<value>` added to what earlier options restricted; a group may be restricted once only. */
export function parseRestrictions(
  value: string,
  { word, option }: RestrictionWords,
  earlier: Restrictions,
): Restrictions {
  const colon = value.indexOf(':');
  const equals = value.indexOf('=', colon + 1);
  if (colon <= 0 || equals <= colon + 1 || equals === value.length - 1) {
    throw new BadOption(`${option} option format is '<config name>:<setting>=<value>'. Got ${value}`);
  }
  const rule = { key: value.slice(colon + 1, equals), value: value.slice(equals + 1) };
  const result = new Map(earlier);
  for (const name of value.slice(0, colon).split(',')) {
    const category = name.trim();
    if (!isCategory(category)) throw new BadOption(`unknown restricted ${word} '${category}' `);
    if (result.has(category)) {
      throw new BadOption(`restricted ${word} '${category}' can not be specified in multiple config groups`);
    }
    result.set(category, rule);
  }
  return result;
}

function isCategory(name: string): name is RestrictedCategory {
  return (RESTRICTED_CATEGORIES as readonly string[]).includes(name);
}
