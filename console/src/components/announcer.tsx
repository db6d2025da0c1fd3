import { createContext, useContext, useState, type ReactNode } from 'react';

const Announce = createContext<(sentence: string) => void>(() => undefined);

/** Tells a screen reader what changed on the page without focus: counts, results of filters. */
export function useAnnounce(): (sentence: string) => void {
  return useContext(Announce);
}

export function Announcer({ children }: { readonly children: ReactNode }) {
  const [sentence, setSentence] = useState('');
  return (
    <Announce value={setSentence}>
      {children}
      <div aria-live="polite" className="sr-only">
        {sentence}
      </div>
    </Announce>
  );
}
