/** Request paths of the HTTP protocol. Names are percent-encoded, so that any name makes one path segment. */

/** Path of a model: `/v2/models/NAME[/versions/VERSION][/ACTION]`. */
export function modelPath(name: string, version: string | undefined, action?: string): string {
  const versions = version ? `/versions/${quote(version)}` : '';
  return `/v2/models/${quote(name)}${versions}${action === undefined ? '' : `/${action}`}`;
}

/** Path of the statistics of one model, or of all models when the name is empty. */
export function statisticsPath(name: string, version: string | undefined): string {
  return name === '' ? '/v2/models/stats' : modelPath(name, version, 'stats');
}

/** Path of a repository operation on one model. */
export function repositoryPath(name: string, action: 'load' | 'unload'): string {
  return `/v2/repository/models/${quote(name)}/${action}`;
}

/** Path of a shared memory operation on one region, or on all when the name is empty. */
export function sharedMemoryPath(
  kind: 'system' | 'cuda',
  name: string,
  action: 'status' | 'register' | 'unregister',
): string {
  return `/v2/${kind}sharedmemory${name === '' ? '' : `/region/${quote(name)}`}/${action}`;
}

/** Escapes of characters that may stand in a path segment as they are (RFC 3986, section 3.3). */
const NEEDLESS = /%(?:2B|3A|40|24|26|2C|3B|3D)/g;

/** Triton does not decode paths, so what may stay as it is does: names with such characters then work there too. */
function quote(name: string): string {
  return encodeURIComponent(name).replace(NEEDLESS, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)));
}
