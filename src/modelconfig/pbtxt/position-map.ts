import type { FieldPath, Position } from '../../contract/finding.js';

/** Where in a text the values of a message stand. */
export class PositionMap {
  readonly #positions = new Map<string, Position>();

  /** Notes the position of a value: its first token for scalars, the field's name (or the opening bracket) for messages. */
  set(path: FieldPath, position: Position): void {
    this.#positions.set(keyOf(path), position);
  }

  /** The position of exactly this value, undefined when the text does not give it. */
  get(path: FieldPath): Position | undefined {
    return this.#positions.get(keyOf(path));
  }

  /** The position of the value or of the nearest message around it that the text gives. */
  nearest(path: FieldPath): Position | undefined {
    for (let length = path.length; length > 0; length--) {
      const found = this.#positions.get(keyOf(path.slice(0, length)));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Takes over the positions of a part under its path in the whole. */
  addAll(path: FieldPath, part: PositionMap): void {
    for (const [key, position] of part.#positions) this.#positions.set(`${keyOf(path)}\0${key}`, position);
  }

  /** Number of values with a position. */
  get size(): number {
    return this.#positions.size;
  }
}

function keyOf(path: FieldPath): string {
  return path.join('\0');
}
