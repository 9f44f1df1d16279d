/** Parsers of option values with the original's texts (spec: model repositories, section 9). */

/** A value that cannot be taken. `option` overrides the name in `Bad option: "..."`. */
export class BadOption extends Error {
  constructor(
    message: string,
    readonly option?: string,
  ) {
    super(message);
  }
}

/** true, on, 1 / false, off, 0 in any case. */
export function parseBool(value: string): boolean {
  const text = value.toLowerCase();
  if (text === 'true' || text === 'on' || text === '1') return true;
  if (text === 'false' || text === 'off' || text === '0') return false;
  throw new BadOption(`invalid value for bool option: ${value}`);
}

/** Like C's stoi: leading blanks and text after the number are passed over; 32 bits. */
export function parseInt32(value: string): number {
  return parseInteger(value, -2147483648n, 2147483647n);
}

/** Like C's stoll; must also be exact as a double. */
export function parseInt64(value: string): number {
  return parseInteger(value, -9223372036854775808n, 9223372036854775807n);
}

function parseInteger(value: string, lowest: bigint, highest: bigint): number {
  const match = /^\s*([+-]?\d+)/.exec(value);
  if (match === null) throw new BadOption(`Invalid option value. Got ${value}`);
  const number = BigInt(match[1] as string);
  if (number < lowest || number > highest) throw new BadOption(`Provided option value is out of bound. Got ${value}`);
  return Number(number);
}

/** The longest time that a timer of Node can wait, in milliseconds and in whole seconds. */
const LONGEST_MS = 2 ** 31 - 1;
const LONGEST_SECONDS = Math.floor(LONGEST_MS / 1000);

/**
 * A parser for an option that Triton does not have: digits and nothing else, so that `1G` is not taken for 1 and `60s`
 * not for 60. `unit` stands in the message, plural; `highest` must be exact as a double.
 */
function wholeNumber(unit: string, lowest: number, highest: number): (value: string) => number {
  return (value) => {
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= lowest && number <= highest) return number;
    throw new BadOption(
      `Expected a whole number of ${unit} from ${lowest} to ${highest}, without a unit. Got ${value}`,
    );
  };
}

/** Bytes; 0 stands for no limit. */
export const parseByteLimit = wholeNumber('bytes', 0, Number.MAX_SAFE_INTEGER);

/** Bytes, at least one. */
export const parseByteCount = wholeNumber('bytes', 1, Number.MAX_SAFE_INTEGER);

/** Milliseconds that a timer can wait; 0 stands for no limit. */
export const parseTimeoutMs = wholeNumber('milliseconds', 0, LONGEST_MS);

/** Seconds that a timer can wait; 0 stands for no limit. */
export const parseTimeoutSeconds = wholeNumber('seconds', 0, LONGEST_SECONDS);

/** Like C's stod: leading blanks and text after the number are passed over; hexadecimal numbers are read, too. NaN without a number. */
export function readStod(value: string): number {
  const hex = /^\s*([+-]?)0x([\da-f]+\.?[\da-f]*|\.[\da-f]+)(?:p([+-]?\d+))?/i.exec(value);
  if (hex !== null) {
    const [, sign, digits = '', exponent = '0'] = hex;
    const [whole = '', fraction = ''] = digits.split('.');
    const scale = Number(exponent) - 4 * fraction.length;
    return Number.parseInt(`${whole}${fraction}`, 16) * 2 ** scale * (sign === '-' ? -1 : 1);
  }
  const infinite = /^\s*([+-]?)inf/i.exec(value);
  if (infinite !== null) return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return Number.parseFloat(value);
}

/** Like C's stod. */
export function parseFloating(value: string): number {
  const number = Number.parseFloat(value);
  if (Number.isNaN(number)) throw new BadOption(`Invalid option value. Got ${value}`);
  return number;
}

/**
 * Checks that a value which parseInt32 has read is a TCP port. Stricter than the original, which takes any number that an
 * int can hold.
 */
export function checkPort(value: string): void {
  if (!/^\s*\+?\d+\s*$/.test(value) || parseInt32(value) > 65535) {
    throw new BadOption(`Invalid option value. Got ${value}, expected a port from 0 (any free port) to 65535`);
  }
}

/** `<first><delimiter><second>`; only the first delimiter separates. */
export function parsePair(value: string, delimiter: string): [first: string, second: string] {
  const at = value.indexOf(delimiter);
  if (at < 0) {
    throw new BadOption(
      'Cannot parse pair option due to incorrect number of inputs.--<pair option> argument requires format ' +
        `<first>${delimiter}<second>. Found: ${value}`,
    );
  }
  return [value.slice(0, at), value.slice(at + 1)];
}

/**
 * `[<group>,]<setting>=<value>`. `noGroup` is the text for an empty group, `format` the text for everything else; a
 * group is demanded when `groupRequired`. The comma counts only before the first `=`.
 */
export function parseGroupedSetting(
  value: string,
  texts: { readonly noGroup: string; readonly format: string; readonly groupRequired: boolean },
): [group: string, setting: string, settingValue: string] {
  const comma = value.indexOf(',');
  const equals = value.indexOf('=');
  const hasGroup = comma >= 0 && (equals < 0 || comma < equals);
  if ((hasGroup && comma === 0) || (!hasGroup && texts.groupRequired)) throw new BadOption(texts.noGroup + value);
  const group = hasGroup ? value.slice(0, comma) : '';
  const rest = hasGroup ? value.slice(comma + 1) : value;
  const at = rest.indexOf('=');
  if (at <= 0 || at === rest.length - 1) throw new BadOption(texts.format + value);
  return [group, rest.slice(0, at), rest.slice(at + 1)];
}
