/** Parsers of option values whose error messages are copied from Triton to the letter (its src/command_line_parser.cc). */
import { type NumberText, readDouble, readInt32, readInt64 } from '../../base/options/c-numbers.js';
import { OptionError } from '../../base/options/option-error.js';
import { readBoolean } from '../../base/options/parse-value.js';

/**
 * A value that cannot be taken, with Triton's own message: it is printed as `Bad option: "--name".` and the message.
 * `option` overrides that name.
 */
export class BadOption extends OptionError {}

/** true, on, 1 / false, off, 0 in any case. */
export function parseBool(value: string): boolean {
  const read = readBoolean(value);
  if (read === undefined) throw new BadOption(`invalid value for bool option: ${value}`);
  return read;
}

/** 32 bits; what follows the number is passed over. */
export const parseInt32 = (value: string): number => numberOf(readInt32(value), value);

/** 64 bits; what follows the number is passed over. */
export const parseInt64 = (value: string): number => numberOf(readInt64(value), value);

/** A number with a fraction; what follows it is passed over. */
export const parseFloating = (value: string): number => numberOf(readDouble(value), value);

function numberOf(read: NumberText, value: string): number {
  if ('value' in read) return read.value;
  if (read.fault === 'invalid') throw new BadOption(`Invalid option value. Got ${value}`);
  throw new BadOption(`Provided option value is out of bound. Got ${value}`);
}

/** A number above 0; anything less is refused with `message`. */
export function positive(value: string, message: string): number {
  const number = parseInt64(value);
  if (number <= 0) throw new BadOption(message);
  return number;
}

/**
 * Checks that a value which parseInt32 has read is a TCP port. Stricter than Triton, which takes any number that an int
 * can hold.
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

/** A parser for `<integer><delimiter><integer>`. */
export function integerPair(delimiter: string, parse: (value: string) => number) {
  return (value: string): [number, number] => {
    const [first, second] = parsePair(value, delimiter);
    return [parse(first), parse(second)];
  };
}

/**
 * `[<group>,]<setting>=<value>`. `noGroup` is the message for an empty group, `format` the one for everything else; a
 * group is demanded when `groupRequired`. The comma counts only before the first `=`.
 */
export function parseGroupedSetting(
  value: string,
  messages: { readonly noGroup: string; readonly format: string; readonly groupRequired: boolean },
): [group: string, setting: string, settingValue: string] {
  const comma = value.indexOf(',');
  const equals = value.indexOf('=');
  const hasGroup = comma >= 0 && (equals < 0 || comma < equals);
  if ((hasGroup && comma === 0) || (!hasGroup && messages.groupRequired)) throw new BadOption(messages.noGroup + value);
  const group = hasGroup ? value.slice(0, comma) : '';
  const rest = hasGroup ? value.slice(comma + 1) : value;
  const at = rest.indexOf('=');
  if (at <= 0 || at === rest.length - 1) throw new BadOption(messages.format + value);
  return [group, rest.slice(0, at), rest.slice(at + 1)];
}
