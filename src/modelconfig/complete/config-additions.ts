/** What completing a configuration added to it, and why. */

import type { KnownBackends } from '../../contract/backend-traits.js';
import type { FieldPath } from '../../contract/finding.js';
import { ModelConfig } from '../../protocol/proto/model-config.js';
import type { Field, MessageSchema } from '../../protocol/proto/schema.js';
import { ENSEMBLE_PLATFORM } from './normalize.js';

/** One value that the user did not write. */
export interface Addition {
  readonly path: FieldPath;
  /** Where it comes from, without a final dot. */
  readonly reason: string;
}

type Message = Readonly<Record<string, unknown>>;

/** Where values come from, by the first member of their path. The first that fits wins. */
const REASONS: readonly (readonly [path: RegExp, reason: (completed: ModelConfig, source: string) => string])[] = [
  [/^name$/, () => "the name of the model's directory"],
  [
    /^(?:backend|platform|default_model_filename)$/,
    () => 'follows from the rest of the configuration, or from the file found',
  ],
  [/^max_batch_size$/, (_, source) => `${source}; the default of a model that batches`],
  [/^(?:input|output)(?:\.|$)/, (_, source) => source],
  [/^version_policy/, () => 'default, the greatest version'],
  [/^optimization/, () => 'default'],
  [/^dynamic_batching\.preferred/, () => 'default, as max_batch_size'],
  [/^dynamic_batching$/, (_, source) => `${source}: the model batches and has no other scheduler`],
  [/^sequence_batching\..*preferred/, () => 'default, as max_batch_size'],
  [/^sequence_batching\.max_sequence_idle/, () => 'default, one second'],
  [/^instance_group$/, () => 'default for this host'],
  [/^instance_group\..*count$/, ({ backend }) => `default of ${backend} for this kind`],
  [/^instance_group\..*name$/, () => 'made of the name of the model'],
  [/^instance_group/, () => 'default for this host'],
  [
    /^model_transaction_policy/,
    ({ platform }, source) => (platform === ENSEMBLE_PLATFORM ? 'from the members' : source),
  ],
];

/** Everything in `completed` that is not in `given`, outermost first: of a message that is new as a whole only itself. */
export function configAdditions(given: ModelConfig, completed: ModelConfig, backends: KnownBackends): Addition[] {
  const backend = backends.find(({ name }) => name === completed.backend);
  const source = backend?.completionSource ?? "read from the model's file";
  const paths: FieldPath[] = [];
  compareMessages([given as Message, completed as Message], ModelConfig, [], paths);
  return paths.map((path) => {
    const key = path.join('.');
    const reason = REASONS.find(([pattern]) => pattern.test(key))?.[1](completed, source) ?? 'default';
    return { path, reason };
  });
}

/** The same thing before and after completion. */
type Pair<T> = readonly [before: T, after: T];

function compareMessages(messages: Pair<Message>, schema: MessageSchema, path: FieldPath, added: FieldPath[]): void {
  const [given, completed] = messages;
  for (const [name, field] of Object.entries(schema.fields)) {
    const [before, after] = [given[name], completed[name]];
    const here = [...path, name];
    if (field.cardinality === 'repeated') compareLists([before as unknown[], after as unknown[]], field, here, added);
    else if (field.cardinality === 'map') continue;
    else if (typeof field.type !== 'function') {
      if (before !== after) added.push(here);
    } else if (before === undefined) {
      if (after !== undefined) added.push(here);
    } else if (after !== undefined) compareMessages([before as Message, after as Message], field.type(), here, added);
  }
}

function compareLists(lists: Pair<readonly unknown[]>, field: Field, path: FieldPath, added: FieldPath[]): void {
  const [before, after] = lists;
  if (before.length === 0) {
    if (after.length > 0) added.push(path);
    return;
  }
  for (const [i, item] of after.entries()) {
    const here = [...path, i];
    if (i >= before.length) added.push(here);
    else if (typeof field.type === 'function') {
      compareMessages([before[i] as Message, item as Message], field.type(), here, added);
    } else if (before[i] !== item) added.push(here);
  }
}
