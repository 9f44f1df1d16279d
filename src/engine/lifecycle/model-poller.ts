import { TritonError } from '../../protocol/error.js';
import { type PolledModel, pollModel } from '../../repository/poll-model.js';
import type { EngineOptions } from '../options.js';
import type { ModelPlace } from './model-place.js';
import { type ModificationTimes, modificationTimes } from './modification-times.js';

/** A model that was polled without a fault. */
export interface Polled {
  readonly place: ModelPlace;
  readonly model: PolledModel;
  /** When its files changed last, as read before its configuration was. */
  readonly times: ModificationTimes;
  /** JSON that stood in for its configuration. */
  readonly override: string | undefined;
  /** Its files came with a load call and lie in a folder that goes with them. */
  readonly temporary: boolean;
  /** Asked for by its own name, not just because an ensemble needs it. */
  readonly asked: boolean;
}

/** Reads and checks a model's configuration. Undefined, and logged, when it has a fault. */
export async function pollPlace(
  options: EngineOptions,
  place: ModelPlace,
  override: string | undefined,
): Promise<Polled | undefined> {
  const { log, autoComplete, modelConfigName, repoAgentDirectory } = options;
  let model: PolledModel;
  let times: ModificationTimes;
  try {
    times = await modificationTimes(place.directory, log);
    model = await pollModel(place.directory, place.name, {
      autoComplete,
      ...(modelConfigName === undefined ? {} : { configName: modelConfigName }),
      ...(repoAgentDirectory === undefined ? {} : { repoAgentDirectory }),
      ...(override === undefined ? {} : { override }),
    });
  } catch (reason) {
    log.error(`Poll failed for model directory '${place.name}': ${TritonError.from(reason).message}`);
    return undefined;
  }
  for (const { position, message } of model.parseErrors) {
    const where = `${position.line}:${position.column}`;
    log.plain?.(`Error parsing text-format inference.ModelConfig: ${where}: ${message}`);
  }
  const [fault] = model.faults;
  if (fault !== undefined) {
    log.error(`Poll failed for model directory '${place.name}': ${fault.message}`);
    return undefined;
  }
  return { place, model, times, override, temporary: false, asked: true };
}
