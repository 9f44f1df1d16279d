import { fileURLToPath } from 'node:url';
import type { BackendTraits } from '../../contract/backend-traits.js';

/** Copies inputs to outputs; models are configurations alone. */
export const identity: BackendTraits = {
  name: 'identity',
  formats: [],
  codeFile: fileURLToPath(new URL('./identity-backend.js', import.meta.url)),
  load: async () => (await import('./identity-backend.js')).backend,
};
