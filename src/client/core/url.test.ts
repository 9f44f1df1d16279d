import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseServerUrl } from './url.js';

const GOOD: readonly (readonly [url: string, authority: string, secure: boolean, basePath: string])[] = [
  ['localhost:8000', 'localhost:8000', false, ''],
  ['http://localhost:8000/', 'localhost:8000', false, ''],
  ['HTTPS://host:1/a/b', 'host:1', true, '/a/b'],
  ['grpcs://[::1]:8001', '[::1]:8001', true, ''],
  ['host', 'host', false, ''],
];

for (const [url, authority, secure, basePath] of GOOD) {
  test(`${url} is an address`, () => {
    const { hostname, ...address } = parseServerUrl(url);
    assert.deepEqual(address, { authority, secure, basePath });
    assert.ok(authority.startsWith(hostname));
  });
}

const BAD: readonly (readonly [url: string, message: string])[] = [
  ['', "'' is not a server address; expected host:port, e.g. localhost:8000"],
  ['a b', "'a b' is not a server address; expected host:port, e.g. localhost:8000"],
  ['h:1?x', "'h:1?x' is not a server address; expected host:port, e.g. localhost:8000"],
  ['ftp://h:1', "unsupported protocol 'ftp' in 'ftp://h:1'; expected http or https"],
  ['constructor://h:1', "unsupported protocol 'constructor' in 'constructor://h:1'; expected http or https"],
  ['h:99999', "'h:99999' is not a server address: Invalid URL; expected host:port"],
];

for (const [url, message] of BAD) {
  test(`'${url}' is not an address`, () => {
    assert.throws(() => parseServerUrl(url), { code: 'INVALID_ARG', message });
  });
}
