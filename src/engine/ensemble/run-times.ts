import { nowNs } from '../../base/clock.js';
import type { Task } from '../schedule/task.js';
import type { ModelStatistics } from '../statistics/model-statistics.js';

/** The times of one request of an ensemble: those of its steps added up, counted once it and all of them have ended. */
export class RunTimes {
  readonly #task: Task;
  readonly #statistics: ModelStatistics;
  readonly #beginNs = nowNs();
  /** Requests of steps that their models have not counted yet. */
  #uncounted = 0;
  #inputNs = 0;
  #inferNs = 0;
  #outputNs = 0;
  #endNs = 0;
  /** How often a failure counts; 0 = the request succeeded. */
  #failures = 0;
  #ended = false;

  constructor(task: Task, statistics: ModelStatistics) {
    this.#task = task;
    this.#statistics = statistics;
  }

  /** A step was handed to its model. */
  sent(): void {
    this.#uncounted++;
  }

  /** The model of a step has counted it. */
  readonly counted = (inputNs: number, inferNs: number, outputNs: number): void => {
    this.#uncounted--;
    this.#inputNs += inputNs;
    this.#inferNs += inferNs;
    this.#outputNs += outputNs;
    this.#countWhenEnded();
  };

  /** The last response is about to go out. */
  responding(): void {
    this.#endNs = nowNs();
  }

  /** The last response went out; a failure counts `failures` times. */
  ended(failures: number): void {
    this.#ended = true;
    this.#failures = failures;
    this.#countWhenEnded();
  }

  /** After the response: the models of the last steps count their own requests first. */
  #countWhenEnded(): void {
    if (!this.#ended || this.#uncounted > 0) return;
    const task = this.#task;
    const statistics = this.#statistics;
    const requestNs = this.#endNs - task.startNs;
    if (this.#failures === 0) {
      const queueNs = this.#beginNs - task.startNs;
      statistics.recordSuccess(task.batchSize, requestNs, queueNs, this.#inputNs, this.#inferNs, this.#outputNs);
      statistics.recordExecution(task.batchSize, this.#inputNs, this.#inferNs, this.#outputNs);
    }
    for (let i = 0; i < this.#failures; i++) statistics.recordFailure('OTHER', requestNs);
    task.counted(this.#inputNs, this.#inferNs, this.#outputNs);
  }
}
