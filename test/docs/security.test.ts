/** The limits of docs/security.md are those of the program: the options exist, their defaults are what is said, and none is missing. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { defaultOf as defaultInHelp } from '../../src/base/options/help-text.js';
import { defaultServerOptions, OPTION_TABLE as TABLE } from '../../src/server/options/server-options.js';

/** The options with their help as it is printed. */
const OPTION_TABLE = TABLE.map(({ name, help, ...rest }) => ({
  name,
  help: `${help}${defaultInHelp({ name, help, ...rest }, defaultServerOptions())}`,
}));

const PAGE = readFileSync(path.resolve(import.meta.dirname, '../../../docs/security.md'), 'utf8');

/** Options with a bound in their help that is not a defence: what they limit is the models' or the operator's own. */
const NO_DEFENCE = new Set([
  'model-load-gpu-limit',
  'rate-limit',
  'rate-limit-resource',
  'grpc-keepalive-time',
  'grpc-http2-max-pings-without-data',
  'grpc-max-connection-age',
  'grpc-max-connection-age-grace',
]);

interface Row {
  readonly option: string;
  readonly shown: string;
  readonly line: string;
}

/** Rows of the tables of limits whose limit is an option of the server. */
function rows(): Row[] {
  return PAGE.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim());
    const option = /`--([a-z0-9-]+)`/.exec(cells[2] ?? '')?.[1];
    return line.startsWith('|') && option !== undefined ? [{ option, shown: cells[3] ?? '', line }] : [];
  });
}

const UNITS: Readonly<Record<string, number>> = {
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  ms: 0.001,
  s: 1,
  minutes: 60,
  min: 60,
  hours: 3600,
  hour: 3600,
};

/** `64 MiB` -> 67108864, `10,000` -> 10000, `60 s` -> 60; undefined for words. */
function amount(text: string): number | undefined {
  const [, number = '', unit = ''] = /^([\d.,]+) ?([A-Za-z]*)/.exec(text) ?? [];
  return number === '' ? undefined : Number(number.replaceAll(',', '')) * (UNITS[unit] ?? 1);
}

/** The default that an option's help names, in seconds where it is a time. */
function defaultOf(help: string): string | number | undefined {
  const said = /Default:? ([^.]+(?:\.\d+)?)/.exec(help)?.[1];
  if (said === undefined) return undefined;
  const number = amount(said);
  if (number === undefined) return said;
  return /milliseconds/i.test(help) && /^\d+$/.test(said) ? number / 1000 : number;
}

test('every option that the limits name exists and has the default that is shown', () => {
  const found = rows();
  assert.ok(found.length >= 2);
  for (const { option, shown, line } of found) {
    const spec = OPTION_TABLE.find(({ name }) => name === option);
    assert.ok(spec !== undefined, `there is no option --${option}: ${line}`);
    const expected = defaultOf(spec.help);
    const got = typeof expected === 'number' ? amount(shown) : shown;
    assert.equal(got, expected, `--${option}: the page says '${shown}', the help '${spec.help}'`);
  }
});

test('every option that bounds what a peer can make the server do has a row', () => {
  const known = new Set(rows().map(({ option }) => option));
  const missing = OPTION_TABLE.filter(
    ({ name, help }) =>
      /(^|-)(limit|max|timeout|backlog)(-|$)/.test(name) &&
      /\bDefault\b/.test(help) &&
      !known.has(name) &&
      !PAGE.includes(`\`--${name}\``) &&
      !NO_DEFENCE.has(name),
  );
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
  );
});
