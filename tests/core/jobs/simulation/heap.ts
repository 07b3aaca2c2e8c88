/** Callbacks in the order of their times; of one time in the order in which they came. */
export class Heap {
  #count = 0;
  readonly #items: { at: number; order: number; run: () => void }[] = [];

  get next(): number {
    return this.#items[0]?.at ?? Infinity;
  }

  #before(a: number, b: number): boolean {
    const [x, y] = [this.#items[a]!, this.#items[b]!];
    return x.at < y.at || x.at === y.at && x.order < y.order;
  }

  #swap(a: number, b: number): void {
    const items = this.#items;
    [items[a], items[b]] = [items[b]!, items[a]!];
  }

  push(at: number, run: () => void): void {
    let place = this.#items.push({ at, order: this.#count++, run }) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#before(place, parent)) return;
      this.#swap(place, parent);
      place = parent;
    }
  }

  pop(): () => void {
    const items = this.#items;
    this.#swap(0, items.length - 1);
    const { run } = items.pop()!;
    for (let place = 0;;) {
      const left = 2 * place + 1;
      let first = place;
      if (left < items.length && this.#before(left, first)) first = left;
      if (left + 1 < items.length && this.#before(left + 1, first)) first = left + 1;
      if (first === place) return run;
      this.#swap(place, first);
      place = first;
    }
  }
}
