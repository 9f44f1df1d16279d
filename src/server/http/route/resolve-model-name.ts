import { TritonError } from '../../../base/error.js';
import type { InferenceEngine } from '../../../contract/engine.js';
import type { LoadParameters } from '../../../protocol/management.js';
import type { HttpRoute } from './endpoint.js';

/** What makes a name need a second look: an escape, or a byte beyond ASCII (which reads as one character here). */
const NOT_PLAIN = /[%\x80-\xff]/;

/**
 * The route with the name of the model that is meant. Triton takes the path as it was sent, so a name that exists in that
 * form wins. Otherwise it is percent-decoded (RFC 3986, section 2.1) and read as UTF-8: so names with blanks, `+`, `:` or
 * letters beyond ASCII work as they do over gRPC. A name that no model has in either form stays as it was sent.
 */
export function resolveModelName(engine: InferenceEngine, route: HttpRoute): HttpRoute {
  if (!NOT_PLAIN.test(route.model) || exists(engine, route.model)) return route;
  const name = decoded(route.model);
  return exists(engine, name) ? { ...route, model: name } : route;
}

/**
 * Loads a model that the engine may hear of for the first time: under its name as it was sent, else percent-decoded. Rejects
 * with what is wrong with the name as it was sent when there is no model under either.
 */
export async function loadByEitherName(
  engine: InferenceEngine,
  name: string,
  parameters: LoadParameters,
): Promise<void> {
  const other = NOT_PLAIN.test(name) ? decoded(name) : name;
  try {
    await engine.load(name, parameters);
  } catch (reason) {
    if (other === name || other.trim() === '' || /[/\0]/.test(other)) throw reason;
    await engine.load(other, parameters).catch((second: unknown) => {
      throw TritonError.from(second).message.endsWith('failed to poll from model repository') ? reason : second;
    });
  }
}

/** Whether the engine has heard of a model: also one that is not ready. */
function exists(engine: InferenceEngine, name: string): boolean {
  try {
    engine.model(name, '');
    return true;
  } catch (reason) {
    // A model that was unloaded has no versions; one that the engine has never heard of `is not found`.
    return !TritonError.from(reason).message.endsWith("' is not found");
  }
}

function decoded(name: string): string {
  const bytes = Buffer.from(name, 'latin1');
  const text = bytes.toString('utf8');
  try {
    return decodeURIComponent(text);
  } catch {
    // Not an escape: a percent sign is a letter of the name.
    return text;
  }
}
