import { fileURLToPath } from 'node:url';
import type { BackendTraits } from '../../contract/backend-traits.js';

/** A decoupled model for trying out streams; models are configurations alone. */
export const repeat: BackendTraits = {
  name: 'repeat',
  formats: [],
  codeFile: fileURLToPath(new URL('./repeat-backend.js', import.meta.url)),
  load: async () => (await import('./repeat-backend.js')).backend,
};
