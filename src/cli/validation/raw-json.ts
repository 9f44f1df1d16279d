import { randomUUID } from 'node:crypto';

/** A JSON text that is to stand in another as it is: numbers beyond 2^53 would not survive being parsed. */
export class RawJson {
  constructor(readonly text: string) {}
}

/** `JSON.stringify` with two blanks of indent, in which raw texts stand as they are, on one line. */
export function stringifyJson(value: unknown): string {
  const texts: string[] = [];
  const mark = randomUUID();
  const text = JSON.stringify(
    value,
    (_, member: unknown) => (member instanceof RawJson ? `${mark}:${texts.push(member.text) - 1}` : member),
    2,
  );
  return text.replace(new RegExp(`"${mark}:(\\d+)"`, 'g'), (_, index: string) => texts[Number(index)] as string);
}
