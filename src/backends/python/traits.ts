import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BackendTraits } from '../../contract/backend-traits.js';

const FILE_NAME = 'model.py';

/** Models that are a Python class, each instance in a process of its own. */
export const python: BackendTraits = {
  name: 'python',
  formats: [{ platform: '', fileName: FILE_NAME }],
  aliases: ['py', 'python3'],
  completionSource: "the model's auto_complete_config",
  codeFile: fileURLToPath(new URL('./python-backend.js', import.meta.url)),
  optionalInputs: true,
  load: async () => (await import('./python-backend.js')).createPythonBackend(),
  examine: async () => (await import('./examine-python.js')).examine,
  fromDirectory: backendInDirectory,
};

/** A backend that is a Python model: `<directory>/<name>/model.py` runs every model of it; their own directories hold data. */
function backendInDirectory(directory: string, name: string): BackendTraits | undefined {
  if (!/^[\w.-]+$/.test(name) || name === '..') return undefined;
  const codeFile = path.join(directory, name, FILE_NAME);
  if (!existsSync(codeFile)) return undefined;
  return {
    name,
    formats: [],
    codeFile,
    optionalInputs: true,
    settingsOf: python.name,
    load: async () => (await import('./python-backend.js')).createPythonBackend(path.dirname(codeFile)),
    examine: async () => (await import('./examine-python.js')).examinerOf(path.dirname(codeFile)),
  };
}
