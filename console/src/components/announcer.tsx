import { createContext, useContext, useState, type ReactNode } from 'react';

const Announce = createContext<(sentence: string) => void>(() => undefined);

/** Returns a function that announces changes outside the focus, such as filter results, to screen readers. */
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
