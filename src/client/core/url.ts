import { invalidArg } from '../../base/error.js';

/** Where a server listens, as given by `host:port`, `https://host:port/base`, `[::1]:8000`, ... */
export interface ServerAddress {
  /** Host and port as written, brackets of IPv6 included. */
  readonly authority: string;
  readonly hostname: string;
  /** True for the schemes https and grpcs. */
  readonly secure: boolean;
  /** Base path without the slash at its end: '' or `/base`. A second slash there is part of the path. */
  readonly basePath: string;
}

const SCHEMES: Readonly<Record<string, boolean>> = { http: false, https: true, grpc: false, grpcs: true };

/** Reads the `url` option of a client. Throws INVALID_ARG for what is not an address. */
export function parseServerUrl(url: string): ServerAddress {
  const match = /^(?:([A-Za-z][\w+.-]*):\/\/)?([^/?#\s]+)(\/[^?#\s]*)?$/.exec(url);
  if (match === null) throw invalidArg(`'${url}' is not a server address; expected host:port, e.g. localhost:8000`);
  const scheme = (match[1] ?? 'http').toLowerCase();
  const secure = Object.hasOwn(SCHEMES, scheme) ? SCHEMES[scheme] : undefined;
  if (secure === undefined) throw invalidArg(`unsupported protocol '${match[1]}' in '${url}'; expected http or https`);
  const authority = match[2] as string;
  let parsed: URL;
  try {
    parsed = new URL(`http://${authority}`);
  } catch (cause) {
    throw invalidArg(`'${url}' is not a server address: ${(cause as Error).message}; expected host:port`);
  }
  return { authority, hostname: parsed.hostname, secure, basePath: (match[3] ?? '').replace(/\/$/, '') };
}
