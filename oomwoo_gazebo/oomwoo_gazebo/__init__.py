"""What Gazebo needs beside worlds: bumpers from contacts, commands that expire, its files."""
