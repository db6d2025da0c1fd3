import { WifiOff } from 'lucide-react';
import { UserText } from '../components/user-text.tsx';
import { useConnection, type Connection } from './connection.ts';

/** Says what is in the way and that it will be over by itself. Its place is empty while all is well. */
export function ConnectionBanner() {
  const connection = useConnection();
  return (
    <div role="status">
      {connection.state !== 'ok' && (
        <div className="flex items-start gap-2 border-b border-line bg-warn-soft px-4 py-2 text-warn">
          <WifiOff aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
          <p className="min-w-0">
            <UserText text={sentenceOf(connection)} />
          </p>
        </div>
      )}
    </div>
  );
}

function sentenceOf(connection: Connection): string {
  if (connection.state === 'offline')
    return 'This device is offline. The page goes on by itself as soon as it is back.';
  if (connection.state === 'unreachable') {
    return 'The service does not answer: it is being restarted, or it has stopped. The page goes on by itself; nothing that you typed is lost.';
  }
  const parts = connection.state === 'impaired' ? connection.parts.join('; ') : '';
  return `A part of the service does not work (${parts}). Events are still taken; the page goes on by itself.`;
}
