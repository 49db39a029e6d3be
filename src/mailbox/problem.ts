/** Something in a mailbox is not as it should be. It is told once, stops nothing, and quotes no text. */
export interface MailboxProblem {
  code:
    /** A file of the child that is not what the contract says. */
    | 'bad-file'
    /** A folder went away, or another thing lies in its place. */
    | 'folder-replaced'
    /** More files of the child than are read. */
    | 'too-many'
    /** The folders cannot be watched: they are looked at four times a second. */
    | 'polling'
    | 'unwritable';
  message: string;
}
