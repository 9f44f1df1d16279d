import { BadOption } from './parse-value.js';
import { RESTRICTED_CATEGORIES, type RestrictedCategory, type Restrictions } from './server-options.js';

/** `<api,...>:<key>=<value>` added to what earlier options restricted; a group may be restricted once only. */
export function parseRestrictions(
  value: string,
  word: 'api' | 'protocol',
  option: string,
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

function isCategory(text: string): text is RestrictedCategory {
  return (RESTRICTED_CATEGORIES as readonly string[]).includes(text);
}
