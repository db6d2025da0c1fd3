import { nameCharsMax } from '../../wire/batch/limits.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { setMember, type Properties } from '../formats/read-values.ts';
import { mapBags, propertyBags, type Bag } from './property-bags.ts';
import { isLonger, shorten } from './shorten.ts';
import type { Change } from './step.ts';

/** The name of an event that the door refuses for its length; undefined: it does not. */
export function findLongName({ event }: WireEvent): string | undefined {
  return isLongName(event) ? event : undefined;
}

export function shortenName(): Change {
  return (event) => ({ ...event, event: shorten(event.event, nameCharsMax) });
}

/** The longest is not looked for: the first that is too long. */
export function findLongProperty(event: WireEvent): string | undefined {
  for (const bag of propertyBags(event)) {
    const found = Object.keys(bag).find(isLongName);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function shortenProperties(): Change {
  const change = (bag: Bag): Bag => {
    if (!Object.keys(bag).some(isLongName)) return bag;
    const shortened: Properties = {};
    for (const [name, value] of Object.entries(bag)) {
      setMember(shortened, isLongName(name) ? shorten(name, nameCharsMax) : name, value);
    }
    return shortened;
  };
  return (event) => mapBags(event, change);
}

/** Of an event or a property. */
export function isLongName(name: string): boolean {
  return isLonger(name, nameCharsMax);
}
