import { CATALOGUE } from '../../../backends/catalogue.js';
import { TritonError } from '../../../base/error.js';
import { type PolledModel, pollModel } from '../../../repository/load/poll-model.js';
import type { EngineOptions } from '../../options/engine-options.js';
import type { ModelPlace } from './model-place.js';
import { type ModificationTimes, modificationTimes } from './modification-times.js';

/** A model that was polled without a fault. */
export interface Polled {
  readonly place: ModelPlace;
  /** Directory of this machine that holds its files: `place.directory`, or where they were fetched to. */
  readonly folder: string;
  /** Another one when it has changed in its store; '' for a local model. */
  readonly signature: string;
  readonly model: PolledModel;
  /** When its files changed last, as read before its configuration was. */
  readonly times: ModificationTimes;
  /** JSON that stood in for its configuration. */
  readonly override: string | undefined;
  /** Its files came with a load call and lie in a directory that goes with them. */
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
  let folder = place.directory;
  let signature = '';
  try {
    if (place.remote !== undefined) {
      ({ folder, signature } = await place.remote.fetch(place.name, (line) => log.info(line)));
    }
    times = await modificationTimes(folder, log);
    model = await pollModel(folder, place.name, {
      backends: options.catalogue ?? CATALOGUE,
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
    log.error(`Poll failed for model directory '${place.name}': ${fault.message.replaceAll(folder, place.directory)}`);
    return undefined;
  }
  return { place, folder, signature, model, times, override, temporary: false, asked: true };
}
