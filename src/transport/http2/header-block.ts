/** A header block that comes in several frames. */
export class HeaderBlockBuffer {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly selfDependent: boolean;
  #parts: Buffer[] = [];
  #size = 0;
  #frames = 0;

  constructor(streamId: number, endStream: boolean, selfDependent: boolean) {
    this.streamId = streamId;
    this.endStream = endStream;
    this.selfDependent = selfDependent;
  }

  get size(): number {
    return this.#size;
  }

  /** Number of pieces so far. */
  get frames(): number {
    return this.#frames;
  }

  /** Adds a copy of a piece: it must outlive the read buffer's turn. */
  add(piece: Buffer): void {
    this.#frames++;
    this.#size += piece.length;
    if (piece.length > 0) this.#parts.push(Buffer.from(piece));
  }

  take(): Buffer {
    return Buffer.concat(this.#parts, this.#size);
  }
}
