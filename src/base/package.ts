import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Release of NVIDIA Triton Inference Server whose protocol is spoken. */
export const PROTOCOL_VERSION = '2.73.0';

/** Directory of the models that are shipped with this package. */
export const SHIPPED_MODELS = fileURLToPath(new URL('../../../fixtures/models', import.meta.url));

/** Version of this package. */
export function packageVersion(): string {
  const file = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** What `--version` prints, with every command. */
export function versionLine(): string {
  return `triton ${packageVersion()} (protocol of Triton Inference Server ${PROTOCOL_VERSION})\n`;
}
