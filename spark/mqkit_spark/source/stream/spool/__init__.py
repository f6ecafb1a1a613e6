"""A folder that driver and executors share, and that batches lie in.

layout        the places in it
folder        as the driver's process has it, alone
lineage       checkpoint and folder: do they belong together?
batch_folder  one batch
reader        one partition, in a task
data_file     its rows
fingerprint   a message in 16 octets
window        the fingerprints of the newest messages
counts        rows, dropped, without id, bytes, lost connections
disk          synced files, links, locks
faults        errors, in one line
"""
